// Keeps numbers up to date, and shows events as they come. The pages do everything else without it.
const headers = { "X-Postrider-Page": "1" };
const numbers = new Intl.NumberFormat("en-US");

function memberOf(object, path) {
    return path.split(".").reduce((value, name) => value?.[name], object);
}

function show(element, value) {
    if (typeof value !== "number") return;
    const text = element.dataset.member.startsWith("rates.") ? `${value.toFixed(1)} per second` : numbers.format(value);
    if (element.textContent !== text) element.textContent = text;
}

async function refresh() {
    const answer = await fetch("/v1/status", { headers });
    if (answer.status === 401) return false;
    if (!answer.ok) return true;
    const status = await answer.json();
    for (const element of document.querySelectorAll("[data-member]")) show(element, memberOf(status, element.dataset.member));
    return true;
}

function keepFresh() {
    const next = () => setTimeout(async () => {
        const again = document.hidden || await refresh().catch(() => true);
        if (again) next();
    }, 5000);
    next();
}

if (document.querySelector("[data-live]")) keepFresh();
