// The page with the bot itself behind it: what a newcomer clicks through.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, hands, shoot } from "./browser.mjs";
import { ana, mei, token, url } from "./slackd.mjs";

let chromium;
let page;
let see, read, gone, become, type;

before(async () => {
  chromium = await browser();
  page = await chromium.newPage();
  ({ see, read, gone, become, type } = hands(page));
  await page.setViewport({ width: 1200, height: 900 });
  await page.goto(`${url}/#token=${token("control")}`);
  await see("nav .link.on");
});
after(() => chromium?.close());

const card = `.message:has([data-action="approve"])`;
const sure = async () => {
  await (await see("dialog.confirm [data-confirm]")).click();
  await gone("dialog");
};

test("ana asks for more than may go without a yes", async () => {
  await become(ana);
  await type("/rent 8xh100 for 1h on-demand project nlp");
  await see(".message.ephemeral");
  await see(card);
  await shoot(page, "real-asked");
});

test("ana cannot say yes to her own request", async () => {
  const before = (await page.$$(".message.ephemeral")).length;
  await page.click(`${card} [data-action="approve"]`);
  await sure();
  await page.waitForFunction((n) => document.querySelectorAll(".message.ephemeral").length > n, {}, before);
  await see(card);
});

test("mei opens the form to say no, and leaves it", async () => {
  await become(mei);
  await (await see(`${card} [data-action="deny"]`)).click();
  await see("dialog.form");
  await shoot(page, "real-deny");
  await page.keyboard.press("Escape");
  await gone("dialog");
});

test("mei says yes, and the card changes in place", async () => {
  const ts = await page.$eval(card, (m) => m.dataset.ts);
  await page.click(`${card} [data-action="approve"]`);
  await shoot(page, "real-sure");
  await sure();
  await gone(`.message[data-ts="${ts}"] [data-action="approve"]`);
  await read("@mei", `.message[data-ts="${ts}"]`);
  await shoot(page, "real-approved");
});

test("ana sees her rental in the list and in the home tab", async () => {
  await become(ana);
  await type("/rent ls");
  await read("8 × h100", ".message.ephemeral");
  await page.click(`[data-go="app"]`);
  await read("8 × h100", ".home");
  await shoot(page, "real-home");
});

test("/rent alone opens the form, which suggests projects", async () => {
  await page.click(`[data-go="burst"]`);
  await type("/rent");
  await see("dialog.form");
  await shoot(page, "real-form");
  assert.ok((await page.$$("dialog [data-action]")).length >= 5);
  await page.keyboard.press("Escape");
  await gone("dialog");
});
