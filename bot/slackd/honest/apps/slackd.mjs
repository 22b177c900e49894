// The local Slack that the test started, as a person and an administrator
// reach it. SLACKD_URL is its address, SLACKD_TOKENS the folder of its tokens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";

export const url = process.env.SLACKD_URL;
export const token = (name) => readFileSync(path.join(process.env.SLACKD_TOKENS, name), "utf8").trim();

// clientOptions point Slack's own clients here.
export const clientOptions = { slackApiUrl: `${url}/api/` };

export const ana = "U0ANA0001";
export const mei = "U0MEI0001"; // reads Chinese
export const kim = "U0KIM0001"; // of an enterprise: Slack sends the W id in clicks
export const burst = "C0BURST01";
export const general = "C0GENERAL"; // the app is no member

async function ask(method, what, body) {
  const answer = await fetch(`${url}/control/${what}`, {
    method,
    headers: { Authorization: `Bearer ${token("control")}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const got = await answer.json();
  assert.ok(answer.ok, `${method} ${what}: ${answer.status} ${JSON.stringify(got)}`);
  return got;
}

export const get = (what) => ask("GET", what);
export const post = (what, body) => ask("POST", what, body);

export const command = (user, text, channel = burst) => post("command", { user, channel, text });
export const messages = async (user, channel = burst) => (await get(`messages?channel=${channel}&user=${user}`)).messages;
export const views = async (user) => (await get(`views?user=${user}`)).views;

// until asks again until the answer is there; a minute means it never comes.
export async function until(what, question) {
  const end = Date.now() + 60_000;
  for (;;) {
    const answer = await question();
    if (answer) {
      return answer;
    }
    assert.ok(Date.now() < end, `never seen: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

// fault is one thing that goes wrong, as many times as it says.
export const fault = (f) => post("faults", f);
