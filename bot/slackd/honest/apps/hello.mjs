// The hello app: what Bolt's own guide shows, with one of everything. The two
// transports run the same app and the same checks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ana, burst, command, get, kim, mei, messages, post, until, views } from "./slackd.mjs";

const plain = (text) => ({ type: "plain_text", text });
const button = (action_id, text, more = {}) => ({ type: "button", action_id, text: plain(text), value: `of ${action_id}`, ...more });

function card(state) {
  const buttons = [button("approve", "Approve", { style: "primary" }), button("deny", "Deny…", { style: "danger" })];
  const blocks = [{ type: "section", text: { type: "mrkdwn", text: `*8 × H100*: ${state}` } }];
  return state === "open" ? [...blocks, { type: "actions", block_id: "card:r1", elements: buttons }] : blocks;
}

const form = {
  type: "modal",
  callback_id: "rent",
  notify_on_close: true,
  private_metadata: "kept",
  title: plain("Rent"),
  submit: plain("Ask"),
  blocks: [
    { type: "input", block_id: "why", label: plain("Why"), element: { type: "plain_text_input", action_id: "text", min_length: 3 } },
    {
      type: "input",
      block_id: "project",
      optional: true,
      label: plain("Project"),
      element: { type: "external_select", action_id: "pick", min_query_length: 0 },
    },
  ],
};

// heard is what the app was told, for the checks to read.
export function install(app) {
  const heard = { closed: [], actions: [], options: [], homes: 0 };
  app.command("/rent", async ({ command: c, ack, respond, client }) => {
    switch (c.text.split(" ")[0]) {
      case "text":
        await ack(`heard ${c.text}`);
        return;
      case "form":
        await ack();
        await client.views.open({ trigger_id: c.trigger_id, view: form });
        return;
      case "card":
        await ack();
        await client.chat.postMessage({ channel: c.channel_id, text: "a card", blocks: card("open") });
        return;
      default:
        await ack();
        await respond({ text: `you said ${c.text}`, blocks: [{ type: "section", text: plain(c.text) }, { type: "actions", elements: [button("again", "Again"), button("gone", "Gone")] }] });
    }
  });
  app.action("approve", async ({ ack, body, action, client, respond }) => {
    await ack();
    heard.actions.push({ user: body.user.id, value: action.value, block: action.block_id, trigger: body.trigger_id });
    await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: "approved", blocks: card(`approved by <@${body.user.id}>`) });
    await respond({ text: "thank you", replace_original: false, response_type: "ephemeral" });
    await client.chat.postMessage({ channel: body.channel.id, thread_ts: body.message.ts, text: "the machines are coming" });
  });
  app.action("again", async ({ ack, respond }) => {
    await ack();
    await respond({ text: "said again", replace_original: true });
  });
  app.action("gone", async ({ ack, respond }) => {
    await ack();
    await respond({ delete_original: true });
  });
  app.options("pick", async ({ ack, payload }) => {
    heard.options.push(payload.value);
    await ack({ options: ["nlp", "vision"].filter((p) => p.startsWith(payload.value)).map((p) => ({ text: plain(p), value: p })) });
  });
  app.view("rent", async ({ ack, view, body, client }) => {
    const why = view.state.values.why.text.value;
    if (why.startsWith("bad")) {
      await ack({ response_action: "errors", errors: { why: "say it better" } });
      return;
    }
    if (why.startsWith("more")) {
      await ack({ response_action: "update", view: { ...form, title: plain("And now"), blocks: form.blocks.slice(0, 1) } });
      return;
    }
    await ack();
    const picked = view.state.values.project?.pick.selected_option?.value;
    await client.chat.postMessage({ channel: body.user.id, text: `asked: ${why} for ${picked} (${view.private_metadata})` });
  });
  app.view({ callback_id: "rent", type: "view_closed" }, async ({ ack, view }) => {
    await ack();
    heard.closed.push(view.id);
  });
  app.event("app_home_opened", async ({ event, client }) => {
    heard.homes++;
    await client.views.publish({ user_id: event.user, view: { type: "home", blocks: [{ type: "header", text: plain(`Home of ${event.user}`) }] } });
  });
  return heard;
}

// check drives the app as people would.
export function check(heard) {
  test("a command is acknowledged with a text that only its author sees", async () => {
    const out = await command(ana, "/rent text with words");
    assert.equal(out.outcome, "acked");
    assert.ok(out.ack_ms < 3000, `acknowledged after ${out.ack_ms} ms`);
    const mine = (await messages(ana)).at(-1);
    assert.equal(mine.text, "heard text with words");
    assert.equal(mine.is_ephemeral, true);
    assert.ok(!(await messages(mei)).some((m) => m.ts === mine.ts), "mei sees it too");
  });

  test("respond answers by response_url, replaces and deletes what it said", async () => {
    await command(ana, "/rent hello there");
    const said = await until("the answer", async () => (await messages(ana)).findLast((m) => m.text === "you said hello there"));
    assert.equal(said.is_ephemeral, true);
    await post("press", { user: ana, channel: burst, ts: said.ts, action_id: "again" });
    await until("the replacement", async () => (await messages(ana)).some((m) => m.ts === said.ts && m.text === "said again"));
    await command(ana, "/rent second");
    const second = await until("the answer", async () => (await messages(ana)).findLast((m) => m.text === "you said second"));
    await post("press", { user: ana, channel: burst, ts: second.ts, action_id: "gone" });
    await until("the deletion", async () => !(await messages(ana)).some((m) => m.ts === second.ts));
  });

  test("a card is posted, pressed by somebody else, edited in place and answered in its thread", async () => {
    await command(ana, "/rent card");
    const posted = await until("the card", async () => (await messages(mei)).findLast((m) => m.blocks?.some((b) => b.block_id === "card:r1")));
    const out = await post("press", { user: mei, channel: burst, ts: posted.ts, action_id: "approve" });
    assert.equal(out.outcome, "acked");
    const edited = await until("the edit", async () => (await messages(ana)).find((m) => m.ts === posted.ts && m.text === "approved"));
    assert.ok(edited.edited, "no edited mark");
    assert.ok(!edited.blocks.some((b) => b.type === "actions"), "the buttons are still there");
    await until("the reply", async () => (await messages(ana)).some((m) => m.thread_ts === posted.ts && m.ts !== posted.ts));
    await until("the thanks", async () => (await messages(mei)).some((m) => m.text === "thank you" && m.is_ephemeral));
    const { user, value, block } = heard.actions.at(-1);
    assert.deepEqual({ user, value, block }, { user: mei, value: "of approve", block: "card:r1" });
    const late = await post("press", { user: mei, channel: burst, ts: posted.ts, action_id: "approve" });
    assert.equal(late.outcome, "refused");
  });

  test("a person of an enterprise is sent with the other id", async () => {
    await command(ana, "/rent card");
    const posted = await until("the card", async () => (await messages(kim)).findLast((m) => m.blocks?.some((b) => b.block_id === "card:r1")));
    await post("press", { user: kim, channel: burst, ts: posted.ts, action_id: "approve" });
    await until("the press", () => heard.actions.some((a) => a.user === "W0KIM0001"));
  });

  test("mentions reach the app escaped", async () => {
    await command(ana, "/rent for @mei in #general");
    await until("the answer", async () => (await messages(ana)).some((m) => m.text === "you said for <@U0MEI0001|mei> in <#C0GENERAL|general>"));
  });

  test("a form is opened, suggests, refuses, changes and is sent", async () => {
    await command(ana, "/rent form");
    const [view] = await until("the form", async () => ((await views(ana)).length ? views(ana) : undefined));
    const at = { user: ana, view_id: view.id };
    const offered = await post("suggest", { ...at, action_id: "pick", block_id: "project", value: "vi" });
    assert.deepEqual(offered.options.map((o) => o.value), ["vision"]);
    assert.deepEqual((await post("submit", { ...at, values: {} })).missing, ["why"]);
    const wrong = await post("submit", { ...at, values: { why: { text: "bad words" } } });
    assert.deepEqual(wrong.errors, { why: "say it better" });
    assert.equal((await views(ana)).length, 1, "the form with errors was closed");
    const sent = await post("submit", { ...at, values: { why: { text: "a deadline" }, project: { pick: "vision" } } });
    assert.equal(sent.outcome, "acked");
    assert.equal((await views(ana)).length, 0, "the form is still open");
    const { channel } = await post("open-dm", { user: ana });
    await until("the direct message", async () => (await messages(ana, channel.id)).some((m) => m.text === "asked: a deadline for vision (kept)"));
  });

  test("a form is changed by its answer, and closing it is told", async () => {
    await command(mei, "/rent form");
    const [view] = await until("the form", async () => ((await views(mei)).length ? views(mei) : undefined));
    await post("submit", { user: mei, view_id: view.id, values: { why: { text: "more please" } } });
    const [next] = await views(mei);
    assert.equal(next.title.text, "And now");
    await post("close", { user: mei, view_id: next.id });
    await until("the closing", () => heard.closed.includes(next.id));
    assert.equal((await views(mei)).length, 0);
  });

  test("opening the home tab draws it", async () => {
    await post("open-home", { user: ana });
    const { view } = await until("the home tab", async () => {
      const got = await get(`home?user=${ana}`);
      return got.view ? got : undefined;
    });
    assert.equal(view.blocks[0].text.text, `Home of ${ana}`);
    assert.ok(heard.homes > 0);
  });
}
