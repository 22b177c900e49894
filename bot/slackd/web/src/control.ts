// The control interface of slackd, as its doc.go describes it.

export type Fields = Record<string, any>;

export interface Block extends Fields {
  type: string;
  block_id?: string;
}

export interface Person {
  id: string;
  name: string;
  real_name?: string;
  tz?: string;
  locale?: string;
  is_bot?: boolean;
  deleted?: boolean;
  is_stranger?: boolean;
  is_restricted?: boolean;
}

export interface Channel {
  id: string;
  name?: string;
  is_im?: boolean;
  is_private?: boolean;
  is_archived?: boolean;
  is_ext_shared?: boolean;
  topic?: string;
  members: string[];
}

export interface Command {
  command: string;
  description?: string;
  usage_hint?: string;
}

export interface Workspace {
  team: { id: string; name: string; domain?: string };
  app: { id: string; name: string; bot_user?: string; commands?: Command[] } & Fields;
  users: Person[];
  groups: { id: string; handle: string; name?: string; users?: string[] }[];
  channels: Channel[];
  connections: number;
  mode: string;
}

export interface Message {
  channel: string;
  ts: string;
  thread_ts?: string;
  user?: string;
  bot_id?: string;
  text?: string;
  blocks?: Block[];
  files?: { id: string; title?: string; name: string; alt_txt?: string; mimetype: string }[];
  reactions?: { name: string; count: number }[];
  edited?: Fields;
  reply_count?: number;
  is_ephemeral?: boolean;
  ephemeral_to?: string;
}

export interface View {
  id: string;
  type: "modal" | "home";
  callback_id?: string;
  hash?: string;
  title?: { text: string };
  submit?: { text: string };
  close?: { text: string };
  blocks: Block[];
  notify_on_close?: boolean;
  state?: { values?: Values };
}

export interface Notice {
  user: string;
  channel?: string;
  ts: string;
  text: string;
  error?: string;
}

export interface Option {
  text: { type: string; text: string };
  value: string;
  description?: { text: string };
}

export interface OptionGroup {
  label: { text: string };
  options: Option[];
}

// Values are what a form holds: by block_id and action_id.
export type Value = string | string[] | { text: string; value: string } | null;
export type Values = Record<string, Record<string, any>>;

export interface Outcome {
  outcome: "acked" | "timeout" | "unreachable" | "refused" | "sent";
  error?: string;
  response?: Fields;
  errors?: Record<string, string>;
  options?: Option[];
  option_groups?: OptionGroup[];
  missing?: string[];
}

// Where a control sits: in a message or in a view.
export type Place = { channel: string; ts: string } | { view_id: string };

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export class Control {
  constructor(private readonly token: string) {}

  async get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    return this.call<T>(`${path}?${new URLSearchParams(query)}`, {});
  }

  async post<T = Outcome>(path: string, body: Fields): Promise<T> {
    return this.call<T>(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  }

  feed(user: string): EventSource {
    return new EventSource(`control/feed?${new URLSearchParams({ user, token: this.token })}`);
  }

  file(id: string): string {
    return `control/files/${encodeURIComponent(id)}?${new URLSearchParams({ token: this.token })}`;
  }

  private async call<T>(path: string, init: RequestInit): Promise<T> {
    const answer = await fetch(`control/${path}`, {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${this.token}` },
    });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      throw new Refused([body.error, body.hint].filter(Boolean).join(": ") || answer.statusText, answer.status);
    }
    return body as T;
  }
}

// The page's token comes in the fragment of its address, which a browser never
// sends anywhere; it is then kept by this tab alone.
export function tokenOfAddress(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return given ?? sessionStorage.getItem("token") ?? "";
}
