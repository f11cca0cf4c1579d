// Keeps numbers up to date, shows events as they come, and asks in a dialog. The pages do everything without it, too, in
// other ways.
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

// ---- events

const shownMembers = ["recipient", "sender", "queue", "link", "code", "status", "next_attempt", "who", "client", "hook", "lane"];
const mostEvents = 500;

function part(tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    return element;
}

// As the server writes them: text only, whatever is in the event.
function lineOf(event) {
    const line = part("span", "", "event");
    const time = part("time", `${String(event.time).slice(0, 19).replace("T", " ")} UTC`);
    time.dateTime = event.time;
    line.append(time, " ", part("strong", event.type));
    if (event.id) {
        const link = part("a", event.id);
        link.href = `/messages/${encodeURIComponent(event.id)}`;
        line.append(" ", link);
    }
    for (const name of shownMembers) {
        const value = event[name];
        if (typeof value === "string" && value !== "" || typeof value === "number") line.append(` ${name}=`, part("bdi", value));
    }
    for (const name of ["text", "why", "reason"]) if (event[name]) line.append(" ", part("bdi", event[name], "verbatim"));
    const item = document.createElement("li");
    item.append(line);
    return item;
}

async function* linesOf(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        const lines = (rest + piece.value).split("\n");
        rest = lines.pop();
        yield* lines.filter(line => line !== "");
    }
}

async function follow(list, state) {
    const query = list.dataset.after ? `?after=${list.dataset.after}` : "";
    const answer = await fetch(`/v1/events${query}`, { headers: { ...headers, Accept: "application/x-ndjson" } });
    if (answer.status === 401) return false;
    if (!answer.ok) return true;
    state.textContent = "Events as they come, newest first.";
    for await (const line of linesOf(answer.body)) {
        const event = JSON.parse(line);
        list.dataset.after = event.seq;
        list.prepend(lineOf(event));
        while (list.children.length > mostEvents) list.lastElementChild.remove();
    }
    return true;
}

async function keepFollowing(list, state) {
    while (await follow(list, state).catch(() => true)) {
        state.textContent = "The connection is interrupted; it is tried again.";
        await new Promise(resolve => setTimeout(resolve, 3000));
    }
    state.textContent = "The session has ended: reload this page to log in again.";
}

const events = document.getElementById("events");
if (events) keepFollowing(events, document.getElementById("following"));

// ---- questions before something is done that cannot be taken back

// The page that asks, in a dialog: its form is sent from there, as it would be from the page.
async function ask(answer) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const title = part("h2", page.querySelector("h1").textContent);
    title.id = "question";
    const cancel = part("button", "Cancel", "quiet");
    cancel.type = "button";
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-labelledby", title.id);
    page.querySelector("h1").remove();
    dialog.append(title, ...page.getElementById("main").childNodes, cancel);
    cancel.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}

function question(of) {
    if (!of.form) return fetch(of.href);
    return fetch(of.form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(of.form)) });
}

document.addEventListener("click", event => {
    const of = event.target.closest("[data-ask]");
    if (!of || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const instead = () => of.form ? of.form.submit() : location.assign(of.href);
    question(of).then(answer => answer.ok && !answer.redirected ? ask(answer) : instead()).catch(instead);
});
