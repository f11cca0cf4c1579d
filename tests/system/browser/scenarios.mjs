// What is done in Chromium, by name; test_page_browser.py starts it: node scenarios.mjs NAME OPTIONS. Prints an object: what the
// scenario found, and under "errors" everything that a person would find in the browser's console.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.NODE_MODULES, "x.js"))("playwright-core");
const [name, text] = process.argv.slice(2);
const options = JSON.parse(text);
const patience = 20000;

async function logIn(page) {
    await page.goto(options.origin + "/");
    await page.getByLabel("Token").fill(options.token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Now", level: 1 }).waitFor();
}

function lookOf(page) {
    return page.evaluate(() => ({
        path: location.pathname,
        heading: document.querySelector("h1").textContent,
        text: document.body.innerText,
        width: document.documentElement.scrollWidth,
        room: document.documentElement.clientWidth,
        back: getComputedStyle(document.body).backgroundColor,
        scripts: document.scripts.length,
        images: document.images.length,
    }));
}

// Where the focus is, and whether a person sees it.
function focusOf(page) {
    return page.evaluate(() => {
        const element = document.activeElement, style = getComputedStyle(element);
        return { text: element.textContent.trim() || element.name, seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
    });
}

async function tabTo(page, text) {
    for (let i = 0; i < 60; ++i) {
        await page.keyboard.press("Tab");
        const focus = await focusOf(page);
        if (!focus.seen) throw new Error(`the focus is not seen: ${focus.text}`);
        if (focus.text === text) return;
    }
    throw new Error(`the keyboard does not lead to "${text}"`);
}

const scenarios = {
    async walk(page) {
        await logIn(page);
        const looks = [];
        for (const path of options.paths) {
            const answer = await page.goto(options.origin + path);
            looks.push({ status: answer.status(), asked: path, ...await lookOf(page) });
            if (options.pictures) await page.screenshot({ path: join(options.pictures, `${looks.length}.png`) });
        }
        return { looks };
    },

    async keyboard(page) {
        await page.goto(options.origin + "/");
        await tabTo(page, "token");
        await page.keyboard.type(options.token);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Now", level: 1 }).waitFor();
        await page.keyboard.press("Tab");
        const first = (await focusOf(page)).text;
        await page.keyboard.press("Enter");
        const skipped = await page.evaluate(() => location.hash);
        await page.goto(options.origin + "/");
        await tabTo(page, "Messages");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Messages", level: 1 }).waitFor();
        await tabTo(page, options.id);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: `Message ${options.id}`, level: 1 }).waitFor();
        await tabTo(page, "Hold");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: /^Hold: message/, level: 1 }).waitFor();
        await tabTo(page, "why");
        await page.keyboard.type("by keyboard");
        await page.keyboard.press("Enter");
        await page.getByText("by keyboard").waitFor();
        return { first, skipped, ...await lookOf(page) };
    },

    // Of two messages, one is removed by the keyboard from its page, the other by the mouse with all that a search finds.
    async dialogs(page) {
        await logIn(page);
        const dialog = page.getByRole("dialog");
        await page.goto(`${options.origin}/messages/${options.ids[0]}`);
        await tabTo(page, "Remove");
        await page.keyboard.press("Enter");
        await dialog.waitFor();
        const heading = await dialog.getByRole("heading").first().innerText();
        const first = (await focusOf(page)).text;
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
        const back = (await focusOf(page)).text, path = await page.evaluate(() => location.pathname);
        await page.keyboard.press("Enter");
        await dialog.waitFor();
        const shown = await lookOf(page);
        await page.keyboard.type("by dialog");
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Messages", level: 1 }).waitFor();
        await page.goto(`${options.origin}/messages?q=all`);
        await page.getByLabel("With all of these in the queue").selectOption("remove");
        await page.getByRole("button", { name: "Preview" }).click();
        await dialog.getByText("1 message").first().waitFor();
        await dialog.getByRole("button", { name: "Cancel" }).click();
        await dialog.waitFor({ state: "detached" });
        const kept = await page.evaluate(() => location.pathname + location.search);
        await page.getByRole("button", { name: "Preview" }).click();
        await dialog.getByLabel("Why").fill("all of them");
        await dialog.getByRole("button", { name: "Remove" }).click();
        await page.getByRole("heading", { name: "Remove: done", level: 1 }).waitFor();
        return { dialog: { heading, first, back, path, kept }, ...shown };
    },

    async pictures(page) {
        await logIn(page);
        for (const [picture, path] of Object.entries(options.paths)) {
            await page.goto(options.origin + path);
            await page.screenshot({ path: join(options.pictures, `${picture}.png`) });
        }
        return {};
    },

    // Prints a line when it is ready for the message.
    async live(page, context) {
        await logIn(page);
        const events = await context.newPage();
        watch(events);
        await events.goto(options.origin + "/events");
        await events.getByText("Events as they come").waitFor({ timeout: patience });
        console.log("ready");
        await events.locator("#events li").filter({ hasText: "message.accepted" }).first().waitFor({ timeout: patience });
        const line = await events.locator("#events li").filter({ hasText: "message.accepted" }).first().innerText();
        await page.locator("[data-member=messages]").filter({ hasText: /^[1-9]/ }).waitFor({ timeout: patience });
        return { line };
    },

    // The sparklines, as they are drawn: their points in the drawing's own units, and what is seen of it.
    async drawings(page) {
        await logIn(page);
        await page.goto(options.origin + "/");
        const drawings = await page.locator("svg.sparkline").evaluateAll(all => all.map(svg => {
            const line = svg.querySelector("polyline"), style = getComputedStyle(line), room = svg.getBoundingClientRect();
            const seen = line.getBoundingClientRect();
            return {
                label: svg.getAttribute("aria-label"),
                points: [...line.points].map(point => [point.x, Math.round(point.y * 10) / 10]),
                stroke: style.stroke,
                fill: style.fill,
                width: seen.width / room.width,
                height: seen.height / room.height,
                within: seen.left >= room.left && seen.right <= room.right && seen.top >= room.top && seen.bottom <= room.bottom,
                pixels: room.height,
            };
        }));
        return { drawings };
    },

    // What the content security policy is for: none of it may happen, and all of it must be reported.
    async violations(page) {
        await logIn(page);
        await page.evaluate(() => {
            document.body.insertAdjacentHTML("beforeend", "<p style='color: red' id=styled>x</p><img src='https://evil.example/x.png'>");
            const script = document.createElement("script");
            script.textContent = "document.title = 'taken over'";
            document.body.append(script);
            return fetch("https://evil.example/").catch(() => {});
        });
        return {
            title: await page.title(),
            colour: await page.evaluate(() => getComputedStyle(document.getElementById("styled")).color),
        };
    },
};

const errors = [];

function watch(page) {
    page.on("console", message => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
    page.on("pageerror", error => errors.push(String(error)));
    page.on("dialog", dialog => {
        errors.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
}

const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: process.getuid() === 0 ? ["--no-sandbox"] : [], // Chromium's sandbox does not start as root
});
try {
    const context = await browser.newContext({
        viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
        colorScheme: options.dark ? "dark" : "light",
        javaScriptEnabled: options.script ?? true,
    });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    watch(page);
    const found = await scenarios[name](page, context);
    console.log(JSON.stringify({ ...found, errors }));
} finally {
    await browser.close();
}
