// Bolt in Socket Mode.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import bolt from "@slack/bolt";
import { check, install } from "./hello.mjs";
import { ana, clientOptions, command, get, messages, post, token, until } from "./slackd.mjs";

const receiver = new bolt.SocketModeReceiver({
  appToken: token("app"),
  clientPingTimeout: 300, // also the wait before a reconnection
  logLevel: bolt.LogLevel.ERROR,
  installerOptions: { clientOptions },
});
const app = new bolt.App({ token: token("bot"), receiver, clientOptions, logLevel: bolt.LogLevel.ERROR });
const heard = install(app);

before(async () => {
  await post("clock", { speed: 600 }); // one new connection a minute is the limit
  await app.start();
});
after(() => app.stop());

check(heard);

const answered = async (words) => {
  const out = await command(ana, `/rent ${words}`);
  assert.equal(out.outcome, "acked", JSON.stringify(out));
  await until(words, async () => (await messages(ana)).some((m) => m.text === `you said ${words}`));
};

test("the client reconnects when Slack asks it to", async () => {
  for (const reason of ["refresh_requested", "warning"]) {
    const again = new Promise((done) => receiver.client.once("connected", done));
    await post("sockets", { do: "disconnect", reason });
    await again;
    await until("one connection", async () => (await get("workspace")).connections === 1);
    await answered(`after ${reason}`);
  }
});

test("the client comes back after an abrupt end", async () => {
  const again = new Promise((done) => receiver.client.once("connected", done));
  await post("sockets", { do: "cut" });
  await again;
  await until("one connection", async () => (await get("workspace")).connections === 1);
  await answered("after the cut");
});

test("the client notices a half-open connection", async () => {
  const again = new Promise((done) => receiver.client.once("connected", done));
  await post("sockets", { do: "freeze" });
  await again; // it pings, hears nothing and dials again
  await until("a live connection", async () => (await command(ana, "/rent text alive")).outcome === "acked");
});

test("a ticket is good for one connection", async () => {
  const client = app.client;
  const { url } = await client.apps.connections.open({ token: token("app") });
  const dial = () =>
    new Promise((done) => {
      const socket = new WebSocket(url);
      socket.onmessage = (m) => {
        const hello = JSON.parse(m.data);
        socket.onclose = () => done(hello.type);
        socket.close();
      };
      socket.onerror = () => done("refused");
    });
  assert.equal(await dial(), "hello");
  assert.equal(await dial(), "refused");
});

test("nobody there is dispatch_failed", async () => {
  await app.stop();
  await until("no connection", async () => (await get("workspace")).connections === 0);
  const out = await command(ana, "/rent anybody");
  assert.deepEqual([out.outcome, out.error], ["unreachable", "dispatch_failed"]);
  await app.start();
});
