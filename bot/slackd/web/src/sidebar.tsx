// Who one is, and where one can go.
import type { Channel, Person } from "./control";
import { Face, nameOf } from "./message";
import type { State } from "./state";
import type { Texts } from "./texts";

export type Where = { channel: string } | { app: "home" | "messages" };
export type Theme = "light" | "dark" | "system";

interface Props {
  state: State;
  texts: Texts;
  user: string;
  where: Where;
  theme: Theme;
  unread(channel: string): number;
  go(where: Where): void;
  become(user: string): void;
  paint(theme: Theme): void;
}

export function partner(c: Channel, user: string): string {
  return c.members.find((m) => m !== user) ?? user;
}

export function isPerson(u: Person): boolean {
  return !u.is_bot && !u.deleted;
}

// Line is one place to go.
function Line({ to, here, count, go, children, id }: { to: Where; here: boolean; count?: number; go(w: Where): void; children: any; id: string }) {
  return (
    <li>
      <button type="button" class={here ? "line here" : "line"} aria-current={here ? "page" : undefined} data-go={id} onClick={() => go(to)}>
        <span>{children}</span>
        {Boolean(count) && <b class="count">{count}</b>}
      </button>
    </li>
  );
}

export function Sidebar({ state, texts, user, where, theme, unread, go, become, paint }: Props) {
  const work = state.workspace;
  const bot = work?.app.bot_user ?? "";
  const users = work?.users ?? [];
  const names = { users, channels: state.channels, groups: work?.groups ?? [] };
  const direct = state.channels.filter((c) => c.is_im && !c.members.includes(bot));
  const ours = state.channels.find((c) => c.is_im && c.members.includes(bot));
  const isHere = (id: string) => "channel" in where && where.channel === id;
  const rooms = state.channels.filter((c) => !c.is_im && (!c.is_archived || isHere(c.id)));
  return (
    <nav class="sidebar" aria-label={texts.channels}>
      <h1>{work?.team.name}</h1>
      <label class="actor">
        <Face id={user} name={nameOf(names, user)} />
        <span>
          <small>{texts.actAs}</small>
          <select id="actor" value={user} onChange={(e) => become(e.currentTarget.value)}>
            {users.filter(isPerson).map((u) => (
              <option key={u.id} value={u.id}>
                {u.real_name ? `${u.real_name} (${u.name})` : u.name}
              </option>
            ))}
          </select>
        </span>
      </label>
      <h2>{texts.channels}</h2>
      <ul>
        {rooms.map((c) => (
          <Line key={c.id} id={c.name ?? c.id} to={{ channel: c.id }} here={isHere(c.id)} count={unread(c.id)} go={go}>
            {c.is_private ? "🔒" : "#"} {c.name}
          </Line>
        ))}
      </ul>
      {direct.length > 0 && (
        <>
          <h2>{texts.direct}</h2>
          <ul>
            {direct.map((c) => (
              <Line key={c.id} id={c.id} to={{ channel: c.id }} here={isHere(c.id)} count={unread(c.id)} go={go}>
                {nameOf(names, partner(c, user))}
              </Line>
            ))}
          </ul>
        </>
      )}
      <h2>{texts.apps}</h2>
      <ul>
        <Line id="app" to={{ app: "home" }} here={"app" in where} count={ours && unread(ours.id)} go={go}>
          {work?.app.name}
        </Line>
      </ul>
      <footer>
        <p class={state.connections > 0 || work?.mode === "http" ? "link on" : "link"}>
          {work?.mode === "http" ? texts.http : state.connections > 0 ? texts.connected(state.connections) : texts.alone}
        </p>
        <label>
          {texts.theme}{" "}
          <select id="theme" value={theme} onChange={(e) => paint(e.currentTarget.value as Theme)}>
            <option value="system">{texts.system}</option>
            <option value="light">{texts.light}</option>
            <option value="dark">{texts.dark}</option>
          </select>
        </label>
      </footer>
    </nav>
  );
}
