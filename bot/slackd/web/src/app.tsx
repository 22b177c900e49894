// The page: sidebar, room, thread and forms of the person one acts as.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Control, Outcome } from "./control";
import { Form, Home } from "./form";
import { type Desk, nameOf, troubleOf } from "./message";
import { repliesTo, Room, Thread } from "./room";
import { isPerson, partner, Sidebar, type Theme, type Where } from "./sidebar";
import { useSlack } from "./state";
import { textsOf } from "./texts";

// useKept is state that survives a reload of the page.
function useKept<T extends string>(key: string, start: T): [T, (v: T) => void] {
  const [value, set] = useState<T>(() => (localStorage.getItem(key) as T) ?? start);
  return [
    value,
    (v) => {
      localStorage.setItem(key, v);
      set(v);
    },
  ];
}

function useDarkSystem(): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, set] = useState(query.matches);
  useEffect(() => {
    const hear = () => set(query.matches);
    query.addEventListener("change", hear);
    return () => query.removeEventListener("change", hear);
  }, [query]);
  return dark;
}

// useSeen counts what has come into channels that are not open.
function useSeen(user: string) {
  const [seen, set] = useState<Record<string, string>>(() => JSON.parse(sessionStorage.getItem("seen") ?? "{}"));
  useEffect(() => sessionStorage.setItem("seen", JSON.stringify(seen)), [seen]);
  return {
    since: (channel: string) => Number(seen[`${user} ${channel}`] ?? 0),
    see: (channel: string, ts: string) => set((old) => (old[`${user} ${channel}`] === ts ? old : { ...old, [`${user} ${channel}`]: ts })),
  };
}

export function App({ control }: { control: Control }) {
  const [user, become] = useKept<string>("actor", "");
  const [theme, paint] = useKept<Theme>("theme", "system");
  const darkSystem = useDarkSystem();
  const dark = theme === "dark" || (theme === "system" && darkSystem);
  const [first, setFirst] = useState<Error | undefined>();
  const [where, setWhere] = useState<Where | undefined>();
  const [thread, setThread] = useState<string | undefined>();
  const [open, setOpen] = useState(false); // the sidebar of a phone
  const [trouble, setTrouble] = useState("");
  const [state] = useSlack(control, user);
  const seen = useSeen(user);
  const work = state.workspace;
  const me = work?.users.find((u) => u.id === user);
  const texts = textsOf(me?.locale ?? navigator.language);

  useEffect(() => {
    control.get<{ users: any[] }>("workspace").then(({ users }) => {
      if (!users.some((u) => u.id === user && isPerson(u))) {
        become(users.find(isPerson).id);
      }
    }, setFirst);
  }, [control]);
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.lang = me?.locale ?? "en";
  }, [dark, me?.locale]);

  const bot = work?.app.bot_user ?? "";
  const home: Where = { channel: state.channels.find((c) => c.members.includes(bot) && !c.is_im && !c.is_archived)?.id ?? state.channels[0]?.id ?? "" };
  const here: Where = where && ("app" in where || state.channels.some((c) => c.id === where.channel)) ? where : home;
  const ours = state.channels.find((c) => c.is_im && c.members.includes(bot));
  const id = "channel" in here ? here.channel : here.app === "messages" ? ours?.id : undefined;
  const channel = state.channels.find((c) => c.id === id);
  const messages = (id && state.messages[id]) || [];
  const last = messages.at(-1)?.ts;
  useEffect(() => {
    if (id && last) {
      seen.see(id, last);
    }
  }, [id, last, user]);

  const problem = first ?? state.problem;
  if (problem) {
    return <p class="alone">{texts.stale}</p>;
  }
  if (!work || !me) {
    return null;
  }

  const names = { users: work.users, channels: state.channels, groups: work.groups ?? [] };
  const report = (sent: Promise<Outcome>) => {
    setTrouble("");
    sent.then(
      (o) => setTrouble(troubleOf(o, texts)),
      (e: Error) => setTrouble(e.message),
    );
  };
  const desk: Desk = {
    control,
    user,
    report,
    base: {
      texts,
      names,
      theme: dark ? "dark" : "light",
      reader: { locale: me.locale ?? "en-US", zone: me.tz, now: new Date() },
      file: (f) => control.file(f),
    },
  };
  const go = async (w: Where) => {
    setWhere(w);
    setThread(undefined);
    setOpen(false);
    setTrouble("");
    if ("app" in w) {
      if (!ours) {
        await control.post("open-dm", { user });
      }
      report(control.post("open-home", { user, tab: w.app }));
    }
  };
  const send = async (text: string, thread_ts?: string): Promise<boolean> => {
    setTrouble("");
    try {
      if (text.startsWith("/") && thread_ts) {
        setTrouble(texts.noCommands);
        return false;
      }
      if (!text.startsWith("/")) {
        await control.post("say", { user, channel: id, text, thread_ts });
        return true;
      }
      const { outcome, error } = await control.post<Outcome>("command", { user, channel: id, text });
      if (outcome === "refused") {
        setTrouble(error ?? outcome);
      }
      return outcome === "acked"; // Slack leaves the text in the box otherwise
    } catch (e) {
      setTrouble((e as Error).message);
      return false;
    }
  };
  const title = "app" in here ? work.app.name : channel?.is_im ? nameOf(names, partner(channel, user)) : `#${channel?.name ?? ""}`;
  const unread = (c: string) =>
    c === id ? 0 : (state.messages[c] ?? []).filter((m) => Number(m.ts) > seen.since(c) && m.user !== user).length;

  return (
    <div class={`page ${thread ? "with-thread" : ""} ${open ? "open" : ""}`}>
      <Sidebar
        state={state}
        texts={texts}
        user={user}
        where={here}
        theme={theme}
        unread={unread}
        go={go}
        paint={paint}
        become={(u) => {
          setThread(undefined);
          become(u);
        }}
      />
      <main onClickCapture={() => open && setOpen(false)}>
        <header>
          <button type="button" class="icon menu" aria-label={texts.menu} onClick={() => setOpen(true)}>
            ☰
          </button>
          <h2>{title}</h2>
          {channel?.topic && <p>{channel.topic}</p>}
          {"app" in here && (
            <div class="tabs" role="tablist">
              {(["home", "messages"] as const).map((t) => (
                <button key={t} type="button" role="tab" id={`tab-${t}`} aria-selected={here.app === t} onClick={() => go({ app: t })}>
                  {t === "home" ? texts.home : texts.messages}
                </button>
              ))}
            </div>
          )}
        </header>
        {!state.online && <p class="banner">{texts.lost}</p>}
        {trouble && (
          <p class="banner" role="alert" id="trouble">
            {trouble}
          </p>
        )}
        {"app" in here && here.app === "home" ? (
          <Home key={user} desk={desk} view={state.home} />
        ) : (
          channel && (
            <Room
              key={`${user} ${channel.id}`}
              desk={desk}
              channel={channel}
              title={title}
              messages={messages}
              notices={state.notices.filter((n) => n.channel === id)}
              commands={work.app.commands ?? []}
              openThread={setThread}
              send={send}
            />
          )
        )}
      </main>
      {thread && channel && (
        <Thread
          key={thread}
          desk={desk}
          root={messages.find((m) => m.ts === thread)}
          replies={repliesTo(messages, thread)}
          close={() => setThread(undefined)}
          send={(text) => send(text, thread)}
        />
      )}
      {state.views.map((v) => (
        <Form key={v.id} desk={desk} view={v} />
      ))}
    </div>
  );
}
