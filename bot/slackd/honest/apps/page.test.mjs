// The page, used as a person would: typed into, pressed, looked at.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import bolt from "@slack/bolt";
import { browser, hands, shoot } from "./browser.mjs";
import { install } from "./hello.mjs";
import { ana, burst, clientOptions, mei, post, token, url } from "./slackd.mjs";

const app = new bolt.App({ token: token("bot"), appToken: token("app"), socketMode: true, clientOptions, logLevel: bolt.LogLevel.ERROR });
install(app);
const address = `${url}/#token=${token("control")}`;
const wrong = [];
let chromium;
let page;
let see, read, gone, become, type;

before(async () => {
  await app.start();
  chromium = await browser();
  page = await chromium.newPage();
  ({ see, read, gone, become, type } = hands(page));
  page.on("pageerror", (e) => wrong.push(e.message));
  page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
  page.on("request", (r) => !r.url().startsWith(url) && !r.url().startsWith("data:") && wrong.push(`asked ${r.url()}`));
  await page.setViewport({ width: 1200, height: 800 });
});
after(async () => {
  await chromium?.close();
  await app.stop();
});

test("an address without the token shows nothing but how to get in", async () => {
  await page.goto(url);
  await see(".alone");
  assert.equal(await page.$("nav"), null);
  wrong.length = 0; // the browser notes the 401
});

test("the token does not stay in the address", async () => {
  await page.goto("about:blank");
  await page.goto(address);
  await see("nav");
  assert.equal(new URL(page.url()).hash, "");
  await page.reload();
  await see("nav");
});

test("a slash offers the app's commands, and /rent posts a card", async () => {
  await become(ana);
  await (await see("main .composer textarea")).type("/re");
  await see(".commands [role=option]");
  await shoot(page, "commands");
  assert.equal((await page.$$(".commands [role=option]")).length, 2);
  await page.keyboard.press("Tab");
  assert.equal(await page.$eval("main .composer textarea", (t) => t.value), "/rent ");
  await page.keyboard.type("card");
  await page.keyboard.press("Enter");
  await see(`[data-action="approve"]`);
  await read("8 × H100: open", ".message");
  await shoot(page, "card");
});

test("mei reads Chinese, presses Approve, and the card changes in place", async () => {
  await become(mei);
  await read("频道", "nav");
  const ts = await (await see(`.message:has([data-action="approve"])`)).evaluate((m) => m.dataset.ts);
  await page.click(`[data-action="approve"]`);
  await read("approved by @mei", `.message[data-ts="${ts}"]`);
  await gone(`.message[data-ts="${ts}"] button.button`);
  await read("仅你可见", ".message.ephemeral");
  await read("thank you", ".message.ephemeral");
  await page.click(`.message[data-ts="${ts}"] .thread-link`);
  await read("the machines are coming", ".thread");
  await (await see(".thread textarea")).type("谢谢");
  await page.keyboard.press("Enter");
  await read("谢谢", ".thread .message");
  await shoot(page, "approved");
  await page.click(".thread .icon");
});

test("ana sees the decision, and not what was said to mei alone", async () => {
  await become(ana);
  // What mei saw stays on the screen until ana's messages are there.
  await page.waitForFunction(() => !document.querySelector("#messages").innerText.includes("thank you"), { timeout: 20000 });
  await read("approved by @mei", ".message");
});

test("a form suggests, shows its errors where they are, and goes", async () => {
  await type("/rent form");
  await see("dialog.form");
  await page.click("dialog button[type=submit]");
  await read("Please complete this field.", `[data-block="why"]`);
  await (await see(`dialog [data-action="text"]`)).type("bad words");
  await page.click("dialog button[type=submit]");
  await read("say it better", `[data-block="why"]`);
  await shoot(page, "form-errors");
  await page.$eval(`dialog [data-action="text"]`, (f) => f.select());
  await page.type(`dialog [data-action="text"]`, "a deadline");
  await page.type(`dialog [data-action="pick"]`, "vi");
  await (await see(`dialog li[data-value="vision"]`)).click();
  await shoot(page, "form");
  await page.click("dialog button[type=submit]");
  await gone("dialog");
});

test("the direct message is counted, and the home tab is drawn on opening", async () => {
  await see(`[data-go="app"] .count`);
  await page.click(`[data-go="app"]`);
  await read(`Home of ${ana}`, ".home");
  await shoot(page, "home");
  await page.click("#tab-messages");
  await read("asked: a deadline for vision (kept)", "#messages");
});

test("Escape closes a form and tells the app", async () => {
  await page.click(`[data-go="burst"]`);
  await type("/rent form");
  await see("dialog.form");
  await page.keyboard.press("Escape");
  await gone("dialog");
});

test("text of people is text: no markup, no links, no script", async () => {
  const text = `<img src=x onerror="document.title='owned'"> <https://evil.example|Approve here>`;
  await app.client.chat.postMessage({ channel: burst, text: "x", blocks: [{ type: "section", text: { type: "plain_text", text } }] });
  await read("onerror=", ".message");
  assert.equal(await page.$(`a[href*="evil"]`), null);
  assert.notEqual(await page.title(), "owned");
});

test("a command that nobody answers stays in the box and says so", async () => {
  await app.stop();
  await page.waitForFunction(() => document.querySelector("nav .link:not(.on)"));
  await type("/rent anything");
  await read("dispatch_failed", ".message.ephemeral");
  assert.equal(await page.$eval("main .composer textarea", (t) => t.value), "/rent anything");
  await app.start();
});

test("dark is chosen, and kept over a reload", async () => {
  const paper = () => page.$eval("main", (m) => getComputedStyle(m).backgroundColor);
  await page.select("#theme", "light");
  const light = await paper();
  await page.select("#theme", "dark");
  await page.waitForFunction((l) => getComputedStyle(document.querySelector("main")).backgroundColor !== l, {}, light);
  await page.reload();
  await see("nav");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await shoot(page, "dark");
});

test("on a phone nothing is wider than the screen", async () => {
  await page.setViewport({ width: 360, height: 740, isMobile: true, hasTouch: true });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  await see("main");
  assert.ok(await fits(), "the room");
  await shoot(page, "phone");
  await page.click(".menu");
  await see("nav");
  await shoot(page, "phone-menu");
  await page.click(`[data-go="burst"]`);
  await page.click(".thread-link");
  await see(".thread");
  assert.ok(await fits(), "a thread");
  await page.click(".thread .icon");
  await type("/rent form");
  await see("dialog.form");
  assert.ok(await fits(), "a form");
  await shoot(page, "phone-form");
});

test("the browser saw no error and asked no other host", () => {
  assert.deepEqual(wrong, []);
});
