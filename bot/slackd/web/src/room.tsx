// A channel with its messages, and a thread beside it.
import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Composer } from "./composer";
import type { Channel, Command, Message as Said, Notice } from "./control";
import { dayOf } from "./dates";
import { type Desk, Message, Told } from "./message";

const isReply = (m: Said) => Boolean(m.thread_ts) && m.thread_ts !== m.ts;

// useBottom keeps the newest line in view.
function useBottom(last: unknown) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [last]);
  return end;
}

interface RoomProps {
  desk: Desk;
  channel: Channel;
  title: string;
  messages: Said[];
  notices: Notice[];
  commands: Command[];
  openThread(ts: string): void;
  send(text: string): Promise<boolean>;
}

export function Room({ desk, channel, title, messages, notices, commands, openThread, send }: RoomProps) {
  const { texts, reader } = desk.base;
  const roots = messages.filter((m) => !isReply(m));
  const count = (ts: string) => messages.filter((m) => isReply(m) && m.thread_ts === ts).length;
  const lines = [
    ...roots.map((m) => ({ ts: m.ts, draw: () => <Message desk={desk} message={m} thread={{ count: count(m.ts), open: () => openThread(m.ts) }} /> })),
    ...notices.map((n) => ({ ts: n.ts, draw: () => <Told desk={desk} notice={n} /> })),
  ].sort((a, b) => Number(a.ts) - Number(b.ts));
  const end = useBottom(`${channel.id} ${lines.at(-1)?.ts}`);
  let day = "";
  return (
    <>
      <div class="messages" id="messages" role="log" aria-label={title}>
        {lines.length === 0 && <p class="note">{texts.empty}</p>}
        {lines.map((l) => {
          const heading = dayOf(l.ts, reader);
          const first = heading !== day;
          day = heading;
          return (
            <Fragment key={l.ts}>
              {first && (
                <h3 class="day">
                  <span>{heading}</span>
                </h3>
              )}
              {l.draw()}
            </Fragment>
          );
        })}
        <div ref={end} />
      </div>
      {channel.is_archived ? (
        <p class="note">{texts.archived}</p>
      ) : (
        <Composer key={channel.id} texts={texts} label={texts.write(title)} commands={commands} send={send} />
      )}
    </>
  );
}

interface ThreadProps {
  desk: Desk;
  root: Said | undefined;
  replies: Said[];
  close(): void;
  send(text: string): Promise<boolean>;
}

export function Thread({ desk, root, replies, close, send }: ThreadProps) {
  const { texts } = desk.base;
  const end = useBottom(`${root?.ts} ${replies.at(-1)?.ts}`);
  return (
    <aside class="thread" aria-label={texts.thread}>
      <header>
        <h2>{texts.thread}</h2>
        <button type="button" class="icon" aria-label={texts.close} onClick={close}>
          ✕
        </button>
      </header>
      <div class="messages">
        {root && <Message desk={desk} message={root} />}
        {replies.length > 0 && (
          <h3 class="day">
            <span>{texts.replies(replies.length)}</span>
          </h3>
        )}
        {replies.map((m) => (
          <Message key={m.ts} desk={desk} message={m} />
        ))}
        <div ref={end} />
      </div>
      <Composer key={root?.ts} texts={texts} label={texts.answer} commands={[]} send={send} />
    </aside>
  );
}

export function repliesTo(messages: Said[], ts: string): Said[] {
  return messages.filter((m) => isReply(m) && m.thread_ts === ts);
}
