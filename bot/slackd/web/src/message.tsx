// One message, and what hangs under it.
import { useState } from "preact/hooks";
import { Blocks, Text } from "./blocks";
import type { Control, Message as Said, Notice, Outcome, Place, Value, Values } from "./control";
import { clockOf } from "./dates";
import { type Names, type Surface, SurfaceContext, useSurface } from "./surface";
import type { Texts } from "./texts";

export function nameOf(names: Names, id: string | undefined): string {
  const u = names.users.find((p) => p.id === id);
  return u?.real_name || u?.name || id || "";
}

// Face is a person's initial on a colour of their own.
export function Face({ id, name, bot }: { id: string; name: string; bot?: boolean }) {
  const hue = [...id].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 360, 7);
  return (
    <span class={bot ? "face bot" : "face"} style={bot ? undefined : { background: `hsl(${hue} 45% 42%)` }} aria-hidden="true">
      {bot ? <Mark /> : [...name][0]?.toUpperCase()}
    </span>
  );
}

// Mark is the app's sign: a wave over a wall.
function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round">
      <path d="M3 9c3-4 6-4 9 0s6 4 9 0" />
      <path d="M3 15h7v5m11-5h-7v5" />
    </svg>
  );
}

// pressOn tells the app what was pressed at a place.
export function pressOn(control: Control, user: string, place: Place, block: string, element: any, value?: Value): Promise<Outcome> {
  return control.post("press", { user, ...place, block_id: block, action_id: element.action_id, ...(value == null ? {} : { value }) });
}

export function suggestAt(control: Control, user: string, place: Place, block: string, element: any, typed: string): Promise<Outcome> {
  return control.post("suggest", { user, ...place, block_id: block, action_id: element.action_id, value: typed });
}

// troubleOf is what went wrong, in words for the person; empty when nothing did.
export function troubleOf(o: Outcome, texts: Texts): string {
  switch (o.outcome) {
    case "timeout":
      return texts.timedOut;
    case "unreachable":
      return texts.unreachable;
    case "refused":
      return o.error ?? o.outcome;
    default:
      return o.error ?? "";
  }
}

export interface Desk {
  control: Control;
  user: string;
  base: Omit<Surface, "value" | "fill" | "errors" | "press" | "suggest">;
  report(outcome: Promise<Outcome>): void;
}

// useMessageSurface holds what was picked in one message.
function useMessageSurface(desk: Desk, message: Said): Surface {
  const [values, fill] = useState<Values>({});
  const place = { channel: message.channel, ts: message.ts };
  return {
    ...desk.base,
    errors: {},
    value: (b, a) => values[b]?.[a],
    fill: (b, a, v) => fill((old) => ({ ...old, [b]: { ...old[b], [a]: v } })),
    press: (b, e, v) => desk.report(pressOn(desk.control, desk.user, place, b, e, v)),
    suggest: (b, e, typed) => suggestAt(desk.control, desk.user, place, b, e, typed),
  };
}

function Files({ message }: { message: Said }) {
  const { file } = useSurface();
  return message.files?.map((f) =>
    f.mimetype?.startsWith("image/") ? (
      <figure key={f.id}>
        <figcaption>{f.title || f.name}</figcaption>
        <img src={file(f.id)} alt={f.alt_txt ?? f.title ?? f.name} />
      </figure>
    ) : (
      <a key={f.id} class="file" href={file(f.id)} download={f.name}>
        {f.title || f.name}
      </a>
    ),
  );
}

interface Props {
  desk: Desk;
  message: Said;
  thread?: { count: number; open(): void };
}

export function Message({ desk, message, thread }: Props) {
  const surface = useMessageSurface(desk, message);
  const { texts, reader, names } = surface;
  const name = nameOf(names, message.user);
  const bot = names.users.find((u) => u.id === message.user)?.is_bot;
  return (
    <SurfaceContext.Provider value={surface}>
      <article class={message.is_ephemeral ? "message ephemeral" : "message"} data-ts={message.ts}>
        <Face id={message.user ?? ""} name={name} bot={bot} />
        <div class="body">
          {message.is_ephemeral && <p class="eye">👁 {texts.onlyYou}</p>}
          <p class="who">
            <strong>{name}</strong> {bot && <span class="badge">APP</span>} <time>{clockOf(message.ts, reader)}</time>
          </p>
          {message.blocks?.length ? (
            <Blocks blocks={message.blocks} where={message.ts} />
          ) : (
            <div class="blocks">{message.text && <Text text={{ type: "mrkdwn", text: message.text }} />}</div>
          )}
          <Files message={message} />
          {message.edited && <small class="edited">{texts.edited}</small>}
          {message.reactions?.map((r) => (
            <span key={r.name} class="reaction">
              <Text text={{ type: "plain_text", text: `:${r.name}:` }} /> {r.count}
            </span>
          ))}
          {thread && thread.count > 0 && (
            <button type="button" class="thread-link" onClick={thread.open}>
              {texts.replies(thread.count)}
            </button>
          )}
          {thread && thread.count === 0 && !message.is_ephemeral && (
            <button type="button" class="thread-link quiet" onClick={thread.open}>
              {texts.reply}
            </button>
          )}
        </div>
      </article>
    </SurfaceContext.Provider>
  );
}

// Told is what Slack itself says to one person.
export function Told({ desk, notice }: { desk: Desk; notice: Notice }) {
  const { texts, reader } = desk.base;
  return (
    <article class="message ephemeral">
      <Face id="slackbot" name="S" />
      <div class="body">
        <p class="eye">👁 {texts.onlyYou}</p>
        <p class="who">
          <strong>Slackbot</strong> <time>{clockOf(notice.ts, reader)}</time>
        </p>
        <p>{notice.text}</p>
      </div>
    </article>
  );
}
