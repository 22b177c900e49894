// A browser without a window, the same on every machine.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

export function browser() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--hide-scrollbars", "--disable-lcd-text", "--font-render-hinting=none", "--force-color-profile=srgb", "--disable-gpu"],
  });
}

// hands are what a person does on the page, and eyes.
export function hands(page) {
  page.setDefaultTimeout(120_000); // a loaded machine is slow, not wrong
  const see = (selector) => page.waitForSelector(selector, { visible: true });
  return {
    see,
    read: (text, where = "body") =>
      page.waitForFunction((t, w) => [...document.querySelectorAll(w)].some((e) => e.innerText.includes(t)), {}, text, where),
    gone: (selector) => page.waitForFunction((s) => !document.querySelector(s), {}, selector),
    become: async (user) => {
      await page.select("#actor", user);
      await page.waitForFunction((u) => document.querySelector("#actor")?.value === u && document.querySelector("main h2")?.innerText, {}, user);
    },
    type: async (line) => {
      await (await see("main .composer textarea")).type(line);
      await page.keyboard.press("Enter");
    },
  };
}

// shoot keeps a picture when SHOTS names a folder.
export async function shoot(page, name) {
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
  }
}

// madeWith is what decides about single pixels: the browser and its fonts.
export function madeWith(version, more = []) {
  const fonts = ["Noto Sans CJK SC", "Noto Sans CJK SC:bold", "Noto Color Emoji", "monospace", ...more].map((f) => {
    const file = execFileSync("fc-match", ["-f", "%{file}", f], { encoding: "utf8" });
    return [f, createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 12)];
  });
  return { chromium: version.match(/\d+/)[0], fonts: Object.fromEntries(fonts) };
}
