// The official Web API client: names of errors, limits and retries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { WebClient, LogLevel } from "@slack/web-api";
import { ana, burst, clientOptions, fault, general, get, messages, post, token } from "./slackd.mjs";

const quiet = { ...clientOptions, logLevel: LogLevel.ERROR };
const client = new WebClient(token("bot"), { ...quiet, retryConfig: { retries: 3, minTimeout: 10, maxTimeout: 50 } });
const plain = (text) => ({ type: "plain_text", text });

const wrong = [
  ["no token", "not_authed", () => new WebClient(undefined, quiet).auth.test()],
  ["an unknown token", "invalid_auth", () => new WebClient("xoxb-none", quiet).auth.test()],
  ["a token of the other kind", "not_allowed_token_type", () => new WebClient(token("app"), quiet).chat.postMessage({ channel: burst, text: "x" })],
  ["no such method", "unknown_method", () => client.apiCall("chat.shout", {})],
  ["no such channel", "channel_not_found", () => client.chat.postMessage({ channel: "C0NOTHERE", text: "x" })],
  ["a channel without the app", "not_in_channel", () => client.chat.postMessage({ channel: general, text: "x" })],
  ["an archived channel", "is_archived", () => client.chat.postMessage({ channel: "C0ATTIC01", text: "x" })],
  ["nothing to say", "no_text", () => client.chat.postMessage({ channel: burst, text: "" })],
  ["a message that is not there", "message_not_found", () => client.chat.update({ channel: burst, ts: "1.000001", text: "x" })],
  ["an unknown person", "user_not_found", () => client.users.info({ user: "U0NOTHERE" })],
  ["an unknown address", "users_not_found", () => client.users.lookupByEmail({ email: "no@hpc.example" })],
  ["a form without a click", "invalid_trigger_id", () => client.views.open({ trigger_id: "1.2.x", view: { type: "modal", title: plain("T"), blocks: [] } })],
  [
    "a block of no known type",
    "invalid_blocks",
    () => client.chat.postMessage({ channel: burst, text: "x", blocks: [{ type: "balloon" }] }),
  ],
  [
    "a header of 151 characters",
    "invalid_blocks",
    () => client.chat.postMessage({ channel: burst, text: "x", blocks: [{ type: "header", text: plain("长".repeat(151)) }] }),
  ],
  [
    "51 blocks",
    "invalid_blocks",
    () => client.chat.postMessage({ channel: burst, text: "x", blocks: Array.from({ length: 51 }, () => ({ type: "divider" })) }),
  ],
];

for (const [what, name, call] of wrong) {
  test(`${what} is ${name}`, async () => {
    await assert.rejects(call, (e) => {
      assert.equal(e.code, "slack_webapi_platform_error", e.message);
      assert.equal(e.data.error, name);
      return true;
    });
  });
}

test("the answer names the scopes of the token", async () => {
  const got = await client.auth.test();
  assert.equal(got.user_id, "U0SPILL01");
  assert.ok(got.response_metadata.scopes.includes("chat:write"));
});

test("a limit is waited for as long as Retry-After says", async () => {
  await fault({ on: "chat.postMessage", kind: "rate", retry_after: 1, times: 1 });
  const started = Date.now();
  const got = await client.chat.postMessage({ channel: burst, text: "patient" });
  assert.equal(got.ok, true);
  assert.ok(Date.now() - started >= 1000, `came back after ${Date.now() - started} ms`);
});

test("a client that does not wait is told how long", async () => {
  await fault({ on: "chat.postMessage", kind: "rate", retry_after: 7, times: 1 });
  const hasty = new WebClient(token("bot"), { ...quiet, rejectRateLimitedCalls: true });
  await assert.rejects(hasty.chat.postMessage({ channel: burst, text: "hasty" }), (e) => {
    assert.equal(e.code, "slack_webapi_rate_limited_error");
    assert.equal(e.retryAfter, 7);
    return true;
  });
});

test("a burst of posts meets the limit of a channel, and every one arrives", async () => {
  await post("clock", { speed: 20 });
  const texts = Array.from({ length: 6 }, (_, i) => `burst ${i}`);
  const stubborn = new WebClient(token("bot"), quiet);
  await Promise.all(texts.map((text) => stubborn.chat.postMessage({ channel: burst, text })));
  await post("clock", { speed: 1 });
  const { calls } = await get("calls?method=chat.postMessage");
  assert.ok(calls.some((c) => c.status === 429 && !c.fault), "the limit was never met");
  const seen = (await messages(ana)).map((m) => m.text).filter((t) => t.startsWith("burst "));
  assert.deepEqual(seen.sort(), texts.sort());
  const stamps = (await messages(ana)).map((m) => m.ts);
  assert.equal(new Set(stamps).size, stamps.length, "two messages have one ts");
});

test("an error of the server is tried again", async () => {
  await fault({ on: "auth.test", kind: "fail", status: 500, times: 2 });
  assert.equal((await client.auth.test()).ok, true);
});

test("a post that was cut off after it landed is there twice", async () => {
  await fault({ on: "chat.postMessage", kind: "hang-up-after", times: 1 });
  await client.chat.postMessage({ channel: burst, text: "no idempotency" });
  const copies = (await messages(ana)).filter((m) => m.text === "no idempotency");
  assert.equal(copies.length, 2);
});

test("a file goes up in three steps", async () => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", "base64");
  await client.files.uploadV2({ channel_id: burst, file: png, filename: "spend.png", title: "Spend", alt_text: "one grey point", initial_comment: "the chart" });
  const post = (await messages(ana)).findLast((m) => m.files?.length);
  assert.equal(post.files[0].title, "Spend");
  assert.equal(post.files[0].size, png.length);
});

test("several files go up into one message of a thread", async () => {
  const { ts } = await client.chat.postMessage({ channel: burst, text: "the week" });
  await client.files.uploadV2({
    channel_id: burst,
    thread_ts: ts,
    initial_comment: "the figures",
    file_uploads: [
      { content: "day,usd\n", filename: "spend.csv", title: "spend.csv" },
      { content: "day,gpu_hours\n", filename: "use.csv", title: "use.csv" },
    ],
  });
  const post = (await messages(ana)).findLast((m) => m.files?.length);
  assert.equal(post.thread_ts, ts);
  assert.equal(post.text, "the figures");
  assert.deepEqual(post.files.map((f) => f.name).sort(), ["spend.csv", "use.csv"]);
});

test("a workspace without charts refuses them", async () => {
  const chart = {
    type: "data_visualization",
    title: "Spend by day",
    chart: {
      type: "bar",
      axis_config: { categories: ["Mon", "Tue"], y_label: "USD" },
      series: [{ name: "spot", data: [{ label: "Mon", value: 1 }, { label: "Tue", value: 2.5 }] }],
    },
  };
  const said = { channel: burst, text: "the week", blocks: [{ type: "divider" }, chart] };
  await client.chat.postMessage(said);
  await post("without", { blocks: ["data_visualization"] });
  try {
    await assert.rejects(client.chat.postMessage(said), (e) => e.data?.error === "invalid_blocks");
    await client.chat.postMessage({ ...said, blocks: [{ type: "divider" }] });
  } finally {
    await post("without", { blocks: [] });
  }
  await client.chat.postMessage(said);
});

test("lists come in pages", async () => {
  const ids = [];
  for await (const page of client.paginate("users.list", { limit: 4 })) {
    assert.ok(page.members.length <= 4);
    ids.push(...page.members.map((m) => m.id));
  }
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes(ana) && ids.length > 8, `${ids.length} people`);
});

test("a direct message is opened once, and posted to by its own id", async () => {
  const one = await client.conversations.open({ users: ana });
  const two = await client.conversations.open({ users: ana });
  assert.equal(one.channel.id, two.channel.id);
  assert.match(one.channel.id, /^D/);
  const said = await client.chat.postMessage({ channel: ana, text: "hello" });
  assert.equal(said.channel, one.channel.id);
  const edited = await client.chat.update({ channel: said.channel, ts: said.ts, text: "hello again" });
  assert.equal(edited.ts, said.ts);
});

test("blocks.validate says where a block is wrong", async () => {
  const good = [{ type: "section", text: plain("fine") }];
  assert.equal((await client.blocks.validate({ blocks: good })).ok, true);
  await assert.rejects(client.blocks.validate({ blocks: [{ type: "header", text: plain("x".repeat(151)) }] }), (e) => {
    assert.ok(e.data.errors?.[0]?.pointer, JSON.stringify(e.data));
    return true;
  });
});

test("an expired trigger opens no form", async () => {
  await fault({ on: "delivery", kind: "lose", times: 1 });
  const { trigger_id } = await post("command", { user: ana, channel: burst, text: "/rent", wait: false });
  await post("clock", { advance_ms: 4000 });
  await assert.rejects(client.views.open({ trigger_id, view: { type: "modal", title: plain("T"), blocks: [] } }), (e) => {
    assert.equal(e.data.error, "expired_trigger_id");
    return true;
  });
});
