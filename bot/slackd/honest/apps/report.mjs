// Draws the weekly report in both languages, light and dark, on a wide and on a
// narrow screen and for paper, and compares the pictures with the kept ones.
//
//	node report.mjs PAGES KEPT FRESH [update | SHEET]
//
// PAGES has en.html and zh.html. The outcome is JSON: {pages, strict, wrong:
// [...]}. Pixels are compared where browser and fonts are those that the kept
// pictures were made with; words, and that everything fits, everywhere.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import pixelmatch from "pixelmatch";
import sharp from "sharp";
import { browser, madeWith } from "./browser.mjs";

const [pages, kept, fresh, mode] = process.argv.slice(2);
const photographed = new Set(["en-light-1200", "zh-dark-1200", "zh-light-360", "en-dark-360"]);
const tolerance = 0.001; // of a picture's pixels
const paper = 703; // pixels between the margins of A4

// Runs in the page: what does not fit, and what it says.
function look(onPaper) {
  const wrong = [];
  const name = (e) => `${e.tagName.toLowerCase()} ${(e.id || e.textContent.trim()).slice(0, 40)}`;
  const shown = (e) => e.getClientRects().length > 0;
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    wrong.push(`the page is ${document.documentElement.scrollWidth} wide on ${width}`);
  }
  for (const e of document.querySelectorAll("body *")) {
    const scrolls = e.closest(".scroll");
    if (shown(e) && !e.closest("svg") && (!scrolls || (onPaper && e === scrolls))) {
      const right = Math.max(e.getBoundingClientRect().right, onPaper && e === scrolls ? e.getBoundingClientRect().left + e.scrollWidth : 0);
      if (right > width + 1) {
        wrong.push(`${name(e)} ends at ${Math.round(right)} of ${width}`);
      }
    }
  }
  for (const svg of [...document.querySelectorAll("svg")].filter(shown)) {
    const { width: w, height: h } = svg.viewBox.baseVal;
    const texts = [...svg.querySelectorAll("text")].map((t) => ({ t, b: t.getBBox() }));
    texts.forEach(({ t, b }, i) => {
      if (b.x < -1 || b.y < -1 || b.x + b.width > w + 1 || b.y + b.height > h + 1) {
        wrong.push(`"${t.textContent}" leaves its chart`);
      }
      for (const { t: o, b: c } of texts.slice(0, i)) {
        const high = Math.min(b.y + b.height, c.y + c.height) - Math.max(b.y, c.y);
        if (b.x < c.x + c.width && c.x < b.x + b.width && high > 0.4 * Math.min(b.height, c.height)) {
          wrong.push(`"${t.textContent}" and "${o.textContent}" overlap`);
        }
      }
    });
  }
  // A character without a glyph is drawn as one that no font has.
  const pad = Object.assign(document.createElement("canvas"), { width: 40, height: 40 }).getContext("2d", { willReadFrequently: true });
  pad.font = `24px ${getComputedStyle(document.body).fontFamily}`;
  const drawn = (c) => {
    pad.clearRect(0, 0, 40, 40);
    pad.fillText(c, 4, 30);
    return pad.getImageData(0, 0, 40, 40).data.join();
  };
  const none = drawn("\u{10FFFE}");
  for (const c of new Set(document.body.textContent.replace(/\s/g, ""))) {
    if (drawn(c) === none) {
      wrong.push(`no glyph for ${c}`);
    }
  }
  return { wrong, words: document.body.innerText.replace(/\s+/g, " ").trim(), height: Math.ceil(document.documentElement.getBoundingClientRect().height) };
}

const chromium = await browser();
const made = madeWith(await chromium.version(), ["system-ui", "Roboto", "Helvetica Neue", "Noto Sans", "Open Sans", "Arial"]);
const index = path.join(kept, "pictures.json");
const known = existsSync(index) ? JSON.parse(readFileSync(index, "utf8")) : { made: {}, words: {} };
const strict = JSON.stringify(known.made) === JSON.stringify(made);
const next = { made, words: {} };
const wrong = [];
let count = 0;
const tab = await chromium.newPage();
tab.on("pageerror", (e) => wrong.push(`the page failed: ${e.message}`));
tab.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
tab.on("request", (r) => !r.url().startsWith("file:") && wrong.push(`asked ${r.url()}`));
const cdp = await tab.createCDPSession();
mkdirSync(fresh, { recursive: true });

async function open(language, theme, width, media) {
  await tab.setViewport({ width, height: 900 });
  // Both at once: each call takes back what another has set.
  await cdp.send("Emulation.setEmulatedMedia", { media, features: [{ name: "prefers-color-scheme", value: theme }] });
  await tab.goto(pathToFileURL(path.join(pages, `${language}.html`)).href);
  await tab.evaluate(() => document.fonts.ready);
}

async function compare(name, shot) {
  const file = path.join(kept, `${name}.png`);
  if (!existsSync(file)) {
    return "there is no kept picture";
  }
  if (!strict) {
    return "";
  }
  const [a, b] = await Promise.all([sharp(file), sharp(shot)].map((p) => p.ensureAlpha().raw().toBuffer({ resolveWithObject: true })));
  if (a.info.width !== b.info.width || a.info.height !== b.info.height) {
    return `is ${b.info.width} × ${b.info.height}, was ${a.info.width} × ${a.info.height}`;
  }
  const off = pixelmatch(a.data, b.data, undefined, a.info.width, a.info.height, { threshold: 0.2 });
  return off > tolerance * a.info.width * a.info.height ? `looks different in ${off} pixels` : "";
}

for (const language of ["en", "zh"]) {
  for (const theme of ["light", "dark"]) {
    for (const width of [1200, 360]) {
      const name = `${language}-${theme}-${width}`;
      if (mode && mode !== "update" && mode !== name) {
        continue;
      }
      await open(language, theme, width, "screen");
      const seen = await tab.evaluate(look, false);
      count++;
      wrong.push(...seen.wrong.map((w) => `${name}: ${w}`));
      next.words[`${language}-${width}`] = seen.words;
      if (mode !== "update" && known.words[`${language}-${width}`] !== seen.words) {
        wrong.push(`${name} says something else`);
      }
      const shot = await tab.screenshot({ fullPage: true });
      const picture = await sharp(shot).png({ palette: true, colours: 32, effort: 7, dither: 0, compressionLevel: 9 }).toBuffer();
      writeFileSync(path.join(fresh, `${name}.png`), picture);
      const why = mode === "update" || !photographed.has(name) ? "" : await compare(name, picture);
      if (why) {
        wrong.push(`${name} ${why}`);
      }
    }
  }
  if (!mode || mode === "update") {
    await open(language, "dark", paper, "print");
    const seen = await tab.evaluate(look, true);
    wrong.push(...seen.wrong.map((w) => `${language} on paper: ${w}`));
    writeFileSync(path.join(fresh, `${language}.pdf`), await tab.pdf({ format: "A4", preferCSSPageSize: true, printBackground: true }));
  }
}
writeFileSync(path.join(fresh, "pictures.json"), `${JSON.stringify(next, null, 1)}\n`);
await chromium.close();
console.log(JSON.stringify({ pages: count, strict, wrong, photographed: [...photographed] }));
