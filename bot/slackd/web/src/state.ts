// What one person can see, read once and then kept up to date by the feed.
import { useEffect, useReducer } from "preact/hooks";
import type { Channel, Control, Message, Notice, Person, View, Workspace } from "./control";

export interface State {
  workspace?: Workspace;
  channels: Channel[];
  messages: Record<string, Message[]>; // by channel, oldest first
  views: View[];
  home?: View | null;
  notices: Notice[];
  connections: number;
  online: boolean;
  problem?: Error;
}

const nothing: State = { channels: [], messages: {}, views: [], notices: [], connections: 0, online: true };

type Change =
  | { kind: "start"; state: Partial<State> }
  | { kind: "message"; message: Message }
  | { kind: "deleted"; channel: string; ts: string }
  | { kind: "history"; channel: string; messages: Message[] }
  | { kind: "channel"; channel: Channel }
  | { kind: "user"; user: Person }
  | { kind: "notice"; notice: Notice }
  | { kind: "set"; state: Partial<State> };

const byTime = (a: Message, b: Message) => Number(a.ts) - Number(b.ts);

function upsert<T extends { id: string }>(list: T[], item: T): T[] {
  return list.some((i) => i.id === item.id) ? list.map((i) => (i.id === item.id ? { ...i, ...item } : i)) : [...list, item];
}

function reduce(state: State, change: Change): State {
  const within = (channel: string, messages: Message[]) => ({ ...state, messages: { ...state.messages, [channel]: messages } });
  switch (change.kind) {
    case "start":
      return { ...nothing, ...change.state };
    case "set":
      return { ...state, ...change.state };
    case "message": {
      const rest = (state.messages[change.message.channel] ?? []).filter((m) => m.ts !== change.message.ts);
      return within(change.message.channel, [...rest, change.message].sort(byTime));
    }
    case "deleted":
      return within(
        change.channel,
        (state.messages[change.channel] ?? []).filter((m) => m.ts !== change.ts),
      );
    case "history":
      return within(change.channel, change.messages);
    case "channel":
      return { ...state, channels: upsert(state.channels, change.channel) };
    case "user":
      return state.workspace ? { ...state, workspace: { ...state.workspace, users: upsert(state.workspace.users, change.user) } } : state;
    case "notice":
      return { ...state, notices: [...state.notices, change.notice] };
  }
}

async function readAll(control: Control, user: string): Promise<Partial<State>> {
  const [workspace, { channels }, { views }, { view: home }, { notices }] = await Promise.all([
    control.get<Workspace>("workspace"),
    control.get<{ channels: Channel[] }>("channels", { user }),
    control.get<{ views: View[] }>("views", { user }),
    control.get<{ view: View | null }>("home", { user }),
    control.get<{ notices: Notice[] }>("notices", { user }),
  ]);
  const histories = await Promise.all(
    channels.map(async ({ id }) => [id, (await control.get<{ messages: Message[] }>("messages", { channel: id, user })).messages ?? []] as const),
  );
  return {
    workspace,
    channels,
    views: views ?? [],
    home,
    notices: notices ?? [],
    connections: workspace.connections,
    messages: Object.fromEntries(histories),
  };
}

// follow applies the feed until the returned function is called.
function follow(control: Control, user: string, apply: (c: Change) => void, again: () => void): () => void {
  const feed = control.feed(user);
  const on = (kind: string, f: (data: any) => void) => feed.addEventListener(kind, (e) => f(JSON.parse((e as MessageEvent).data || "null")));
  feed.onerror = () => apply({ kind: "set", state: { online: false } });
  on("ready", again); // also after every reconnection: what was missed is read again
  on("lost", again);
  on("message", (message: Message) => apply({ kind: "message", message }));
  on("deleted", (d) => apply({ kind: "deleted", channel: d.channel, ts: d.ts }));
  on("view", (d) => apply({ kind: "set", state: { views: d.views ?? [] } }));
  on("home", (d) => apply({ kind: "set", state: { home: d.view } }));
  on("notice", (notice: Notice) => apply({ kind: "notice", notice }));
  on("sockets", (d) => apply({ kind: "set", state: { connections: d.connections } }));
  on("user", (u: Person) => apply({ kind: "user", user: u }));
  on("channel", async (channel: Channel) => {
    const { channels } = await control.get<{ channels: Channel[] }>("channels", { user });
    apply({ kind: "set", state: { channels } });
    const { messages } = await control.get<{ messages: Message[] }>("messages", { channel: channel.id, user });
    apply({ kind: "history", channel: channel.id, messages: messages ?? [] });
  });
  return () => feed.close();
}

export function useSlack(control: Control, user: string): [State, (c: Change) => void] {
  const [state, apply] = useReducer(reduce, nothing);
  useEffect(() => {
    let current = true;
    const ifCurrent = (c: Change) => current && apply(c);
    const again = () => {
      readAll(control, user).then(
        (all) => ifCurrent({ kind: "start", state: all }),
        (problem: Error) => ifCurrent({ kind: "set", state: { problem } }),
      );
    };
    if (!user) {
      return undefined;
    }
    const stop = follow(control, user, ifCurrent, again);
    return () => {
      current = false;
      stop();
    };
  }, [control, user]);
  return [state, apply];
}
