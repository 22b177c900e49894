// Bolt over signed HTTP.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import bolt from "@slack/bolt";
import { check, install } from "./hello.mjs";
import { ana, clientOptions, command, fault, post, token } from "./slackd.mjs";

const secret = token("signing-secret");
const receiver = new bolt.HTTPReceiver({ signingSecret: secret, logLevel: bolt.LogLevel.ERROR });
const app = new bolt.App({ token: token("bot"), receiver, clientOptions, logLevel: bolt.LogLevel.ERROR });
const heard = install(app);
let address = "";

before(async () => {
  const server = await app.start({ port: 0, host: "127.0.0.1" });
  address = `http://127.0.0.1:${server.address().port}/slack/events`;
  const set = await post("delivery", { mode: "http", url: address });
  assert.equal(set.verified, true, "Bolt did not answer the challenge");
});
after(async () => {
  await app.stop();
  await post("delivery", { mode: "socket" });
});

check(heard);

const quietly = async (work) => {
  const { error } = console;
  console.error = () => undefined; // Bolt writes of each refusal
  try {
    return await work();
  } finally {
    console.error = error;
  }
};

test("Bolt refuses a signature that is ten minutes old", async () => {
  await fault({ on: "slash_commands", kind: "skew", ms: -600_000, times: 1 });
  const out = await quietly(() => command(ana, "/rent old"));
  assert.deepEqual([out.outcome, out.error], ["unreachable", "dispatch_failed"]);
  assert.equal((await command(ana, "/rent text fresh")).outcome, "acked");
});

test("Bolt refuses what nobody signed, and takes what this secret signed", async () => {
  const body = "payload=%7B%7D";
  const now = String(Math.floor(Date.now() / 1000));
  const send = (key) =>
    fetch(address, {
      method: "POST",
      body,
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": now,
        "X-Slack-Signature": `v0=${createHmac("sha256", key).update(`v0:${now}:${body}`).digest("hex")}`,
      },
    });
  assert.equal((await quietly(() => send("another secret"))).status, 401);
  assert.notEqual((await quietly(() => send(secret))).status, 401);
});

test("an event that is answered late comes again with its retry number", async () => {
  const tries = [];
  app.event("user_change", async ({ body, context }) => {
    tries.push({ id: body.event_id, n: context.retryNum });
  });
  await post("clock", { speed: 600 });
  await fault({ on: "events_api", kind: "drop-ack", times: 1 });
  await post("users/U0TOM0001", { real_name: "Tom B. Berg" });
  const end = Date.now() + 30_000;
  while (tries.length < 2 && Date.now() < end) {
    await new Promise((done) => setTimeout(done, 20));
  }
  await post("clock", { speed: 1 });
  assert.equal(tries.length, 2);
  assert.equal(tries[0].id, tries[1].id);
  assert.equal(tries[1].n, 1);
});
