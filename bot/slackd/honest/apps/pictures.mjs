// Draws every card, form and home tab in both languages, light and dark, on a
// wide and on a narrow screen, and compares the pictures with the kept ones.
//
//	node pictures.mjs PAGE GOLDEN KEPT FRESH [update | SHEET]
//
// PAGE is the built page of pictures, GOLDEN the folder of messages, KEPT the
// folder of pictures, FRESH where new ones go. With the name of a SHEET only that
// one is compared. The outcome is JSON: {cards,
// strict, wrong: [...]}. Pixels are compared where browser and fonts are those
// that the kept pictures were made with; what is written, and what can be
// pressed, is compared everywhere. All eight sheets are drawn and measured;
// kept are the four that have every pair of language, theme and width.
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import pixelmatch from "pixelmatch";
import sharp from "sharp";
import { browser, madeWith } from "./browser.mjs";

const [page, golden, kept, fresh, mode] = process.argv.slice(2);
const locales = { en: ["en-US", "America/New_York"], zh: ["zh-CN", "Asia/Shanghai"] };
const noon = 1_796_040_000; // 2026-11-30 12:00 UTC, the clock of the golden messages
const names = {
  users: ["ana", "mei", "tom"].map((name) => ({ id: `U0${name.toUpperCase()}`, name, real_name: name })),
  channels: [],
  groups: [],
};
const photographed = new Set(["en-light-700", "en-dark-360", "zh-dark-700", "zh-light-360"]);
const columns = { 700: 4, 360: 7 };
const tallest = 6000; // of one screenshot, far below what Chromium can do
const tolerance = 0.002; // of a card's pixels
const stretch = 0.2; // of a card's height, with other fonts

function cardsOf(language) {
  return readdirSync(golden)
    .filter((f) => f.endsWith(`.${language}.json`))
    .sort()
    .map((f) => {
      const drawn = JSON.parse(readFileSync(path.join(golden, f), "utf8"));
      const name = f.replace(/\.\w+\.json$/, "");
      return drawn.type ? { name, view: drawn } : { name, blocks: drawn.blocks };
    });
}

async function serve() {
  const types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = createServer((q, r) => {
    const file = path.join(page, path.basename(q.url === "/" ? "index.html" : q.url));
    if (!existsSync(file)) {
      r.writeHead(404).end();
      return;
    }
    r.setHeader("Content-Type", `${types[file.split(".").pop()]}; charset=utf-8`).end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

// Runs in the page: where each card is, and what it says and offers.
function outlines() {
  const words = (e) => e.innerText.replace(/\s+/g, " ").trim();
  return [...document.querySelectorAll(".picture")].map((e) => {
    const { x, y, width, height } = e.getBoundingClientRect();
    const buttons = [...e.querySelectorAll("button, a.button, span.button")].map((b) => `${words(b)} ${b.className.replace("button", "").trim()}`.trim());
    const fields = [...e.querySelectorAll("input, select, textarea")].map((f) => `${f.tagName.toLowerCase()} ${f.dataset.action ?? ""} ${f.value}`.trim());
    const wide = [...e.querySelectorAll("*")].filter((c) => c.getBoundingClientRect().right > window.innerWidth + 1 && !c.closest(".wide")).length;
    return { name: e.id, at: [x, y + scrollY, width, height].map(Math.round), outline: { words: words(e), buttons, fields }, wide };
  });
}

// draw is each card of one sheet, without its pixels.
async function draw(tab, language, theme, width, golds) {
  await tab.setViewport({ width, height: 800 });
  const [locale, zone] = locales[language];
  await tab.evaluate((s) => window.draw(s), { locale, zone, now: noon, theme, names, cards: golds });
  await tab.evaluate(() => document.fonts.ready);
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const cards = await tab.evaluate(outlines);
  for (const c of cards) {
    c.size = [width, c.at[3]];
  }
  return cards;
}

// photograph adds the raw pixels of each card.
async function photograph(tab, cards, width) {
  for (let i = 0; i < cards.length; ) {
    const top = cards[i].at[1];
    let j = i;
    while (j < cards.length && cards[j].at[1] + cards[j].at[3] - top <= tallest) {
      j++;
    }
    const last = cards[j - 1].at;
    const shot = await tab.screenshot({ clip: { x: 0, y: top, width, height: last[1] + last[3] - top }, captureBeyondViewport: true });
    for (const c of cards.slice(i, j)) {
      const region = { left: 0, top: c.at[1] - top, width, height: c.at[3] };
      c.pixels = await sharp(shot).ensureAlpha().extract(region).raw().toBuffer();
    }
    i = j;
  }
}

// lay puts the cards into columns and gives them their places.
function lay(cards, width) {
  const per = Math.ceil(cards.length / columns[width]);
  let bottom = 0;
  cards.forEach((c, i) => {
    bottom = i % per === 0 ? 0 : bottom;
    c.place = [Math.floor(i / per) * width, bottom];
    bottom += c.size[1];
  });
  return { width: columns[width] * width, height: Math.max(...cards.map((c) => c.place[1] + c.size[1])) };
}

async function sheet(cards, width, theme) {
  const background = theme === "dark" ? "#1a1d21" : "#ffffff";
  const size = lay(cards, width);
  const parts = cards.map((c) => ({ input: c.pixels, raw: { width: c.size[0], height: c.size[1], channels: 4 }, left: c.place[0], top: c.place[1] }));
  return sharp({ create: { ...size, channels: 4, background } })
    .composite(parts)
    .png({ palette: true, colours: 32, effort: 4, dither: 0, compressionLevel: 9 })
    .toBuffer();
}

// unread is markup that a person would see. Plain text may look like it.
function unread(words, card) {
  let rest = words;
  JSON.stringify(card, (_, v) => {
    if (v?.type === "plain_text") {
      rest = rest.replaceAll(v.text.replace(/\s+/g, " ").trim(), "");
    }
    return v;
  });
  return rest.match(/<[!@#]\S*|\{date\S*|:[a-z_]{3,}:|&(?:amp|lt|gt);|\*\S+\*/)?.[0];
}

// differs says what is wrong with a card, or nothing.
async function differs(card, old, outline, picture, strict) {
  if (!old) {
    return "is new";
  }
  if (JSON.stringify(outline) !== JSON.stringify(card.outline)) {
    return `says or offers something else:\n  kept  ${JSON.stringify(outline)}\n  drawn ${JSON.stringify(card.outline)}`;
  }
  const [width, height] = old.size;
  if (Math.abs(height - card.size[1]) > (strict ? 0 : height * stretch)) {
    return `is ${card.size[1]} high, was ${height}`;
  }
  if (!strict || !card.pixels || !picture) {
    return "";
  }
  const before = await sharp(picture).ensureAlpha().extract({ left: old.place[0], top: old.place[1], width, height }).raw().toBuffer();
  const count = pixelmatch(before, card.pixels, undefined, width, height, { threshold: 0.2 });
  return count > tolerance * width * height ? `looks different in ${count} of ${width * height} pixels` : "";
}

const server = await serve();
const chromium = await browser();
const made = madeWith(await chromium.version());
const index = path.join(kept, "pictures.json");
const known = existsSync(index) ? JSON.parse(readFileSync(index, "utf8")) : { made: {}, outlines: {}, sheets: {} };
const strict = JSON.stringify(known.made) === JSON.stringify(made);
const next = { made, outlines: {}, sheets: {} };
const wrong = [];
let count = 0;
const tab = await chromium.newPage();
tab.on("pageerror", (e) => wrong.push(`the page failed: ${e.message}`));
await tab.goto(`http://127.0.0.1:${server.address().port}/`);
mkdirSync(fresh, { recursive: true });
for (const language of ["en", "zh"]) {
  for (const theme of ["light", "dark"]) {
    for (const width of [700, 360]) {
      const name = `${language}-${theme}-${width}`;
      if (mode && mode !== "update" && mode !== name) {
        continue;
      }
      const golds = cardsOf(language);
      const cards = await draw(tab, language, theme, width, golds);
      const file = path.join(kept, `${name}.png`);
      const old = existsSync(file) ? readFileSync(file) : undefined;
      count += cards.length;
      lay(cards, width);
      if (photographed.has(name)) {
        await photograph(tab, cards, width);
      }
      if (photographed.has(name) && mode === "update") {
        writeFileSync(path.join(fresh, `${name}.png`), await sheet(cards, width, theme));
      }
      next.sheets[name] = Object.fromEntries(cards.map(({ name: n, place, size }) => [n, { place, size }]));
      next.outlines[language] = Object.fromEntries(cards.map(({ name: n, outline }) => [n, outline]));
      if (photographed.has(name) && mode !== "update" && !old) {
        wrong.push(`${name}: there is no kept picture`);
      }
      for (const c of cards) {
        if (c.wide > 0) {
          wrong.push(`${name} ${c.name}: ${c.wide} parts are wider than the screen`);
        }
        const raw = unread(c.outline.words, golds.find((g) => g.name === c.name));
        if (raw) {
          wrong.push(`${name} ${c.name} shows markup: ${raw}`);
        }
        if (c.pixels && new Set(c.pixels).size < 3) {
          wrong.push(`${name} ${c.name}: nothing was drawn`);
        }
        const why = mode === "update" ? "" : await differs(c, known.sheets[name]?.[c.name], known.outlines[language]?.[c.name], old, strict);
        if (why) {
          wrong.push(`${name} ${c.name} ${why}`);
        }
      }
      const missing = Object.keys(known.sheets[name] ?? {}).filter((n) => !next.sheets[name][n]);
      if (mode !== "update" && missing.length > 0) {
        wrong.push(`${name}: no longer drawn: ${missing.join(", ")}`);
      }
    }
  }
}
writeFileSync(path.join(fresh, "pictures.json"), `${JSON.stringify(next)}\n`);
await chromium.close();
server.close();
console.log(JSON.stringify({ cards: count, strict, wrong }));
