// The line people write in. A slash opens the list of the app's commands.
import { useState } from "preact/hooks";
import type { Command } from "./control";
import type { Texts } from "./texts";

interface Props {
  texts: Texts;
  label: string;
  commands: Command[];
  send(text: string): Promise<boolean>; // whether the line may be emptied
}

export function Composer({ texts, label, commands, send }: Props) {
  const [line, write] = useState("");
  const [at, move] = useState(0);
  const [busy, work] = useState(false);
  const first = line.split(" ")[0];
  const offered = line.startsWith("/") && !line.includes(" ") ? commands.filter((c) => c.command.startsWith(first)) : [];
  const pick = (c: Command | undefined) => c && write(`${c.command} `);
  const submit = async () => {
    if (line.trim() === "" || busy) {
      return;
    }
    work(true);
    if (await send(line.trim())) {
      write("");
    }
    work(false);
  };
  const key = (e: KeyboardEvent) => {
    if (e.isComposing) {
      return; // Enter belongs to the input method
    }
    if (offered.length > 0 && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      move((n) => (n + (e.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length);
    } else if (offered.length > 0 && (e.key === "Tab" || (e.key === "Enter" && offered[at % offered.length].command !== first))) {
      e.preventDefault();
      pick(offered[at % offered.length]);
    } else if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      submit();
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      {offered.length > 0 && (
        <ul class="commands" role="listbox" aria-label="/">
          {offered.map((c, i) => (
            <li
              key={c.command}
              role="option"
              aria-selected={i === at % offered.length}
              onMouseDown={(e) => {
                e.preventDefault();
                pick(c);
              }}
            >
              <strong>{c.command}</strong> <code>{c.usage_hint}</code>
              <small>{c.description}</small>
            </li>
          ))}
        </ul>
      )}
      <textarea
        rows={1}
        aria-label={label}
        placeholder={label}
        value={line}
        onInput={(e) => {
          write(e.currentTarget.value);
          move(0);
        }}
        onKeyDown={key}
      />
      <button type="submit" class="button primary" disabled={busy || line.trim() === ""} aria-label={texts.send}>
        ➤
      </button>
    </form>
  );
}
