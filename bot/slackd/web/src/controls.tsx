// The parts of Block Kit that do something, as the browser's own controls.
import { useState } from "preact/hooks";
import { Combobox } from "./combobox";
import type { Fields, Option, OptionGroup, Value } from "./control";
import { Confirm } from "./dialog";
import { startOf, useSurface } from "./surface";

interface Props {
  block: string;
  element: Fields;
  dispatch: boolean; // the app hears of every change
  id?: string;
  describedBy?: string;
  invalid?: boolean;
}

// Element draws one element, or nothing for one that holds no control.
export function Element(props: Props) {
  switch (props.element.type) {
    case "button":
    case "workflow_button":
      return <Button {...props} />;
    case "static_select":
      return <Select {...props} options={props.element.options} groups={props.element.option_groups} />;
    case "external_select":
      return <Combobox {...props} />;
    case "users_select":
    case "channels_select":
    case "conversations_select":
      return <Select {...props} options={useListed(props.element.type)} />;
    case "overflow":
      return <Overflow {...props} />;
    case "radio_buttons":
    case "checkboxes":
    case "multi_static_select":
      return <Choices {...props} />;
    default:
      return <Field {...props} />;
  }
}

function useListed(type: string): Option[] {
  const { names } = useSurface();
  const users = names.users.map((u) => ({ value: u.id, text: { type: "plain_text", text: u.real_name || u.name } }));
  const channels = names.channels
    .filter((c) => c.name)
    .map((c) => ({ value: c.id, text: { type: "plain_text", text: `#${c.name}` } }));
  return { users_select: users, channels_select: channels }[type] ?? [...channels, ...users];
}

// useValue is the element's value and the setter that tells the app too, after
// asking where the element wants that.
function useValue({ block, element, dispatch }: Props) {
  const surface = useSurface();
  const [asking, ask] = useState<Value | undefined>();
  const commit = (v: Value) => {
    surface.fill(block, element.action_id, v);
    if (dispatch) {
      surface.press(block, element, v);
    }
  };
  return {
    surface,
    value: surface.value(block, element.action_id) ?? startOf(element),
    set: (v: Value) => (element.confirm && dispatch ? ask(v) : commit(v)),
    confirm: asking !== undefined && (
      <Confirm
        confirm={element.confirm}
        done={(yes) => {
          ask(undefined);
          if (yes) {
            commit(asking);
          }
        }}
      />
    ),
  };
}

function Button({ block, element }: Props) {
  const surface = useSurface();
  const [asking, ask] = useState(false);
  const press = () => surface.press(block, element, element.value);
  const look = `button ${element.style ?? ""}`;
  if (element.url) {
    return (
      <a class={look} href={element.url} target="_blank" rel="noreferrer" onClick={press} data-action={element.action_id}>
        {element.text.text}
      </a>
    );
  }
  return (
    <>
      <button
        type="button"
        class={look}
        data-action={element.action_id}
        aria-label={element.accessibility_label}
        onClick={() => (element.confirm ? ask(true) : press())}
      >
        {element.text?.text}
      </button>
      {asking && (
        <Confirm
          confirm={element.confirm}
          done={(yes) => {
            ask(false);
            if (yes) {
              press();
            }
          }}
        />
      )}
    </>
  );
}

const valueOf = (v: Value | undefined): string => (v && typeof v === "object" && !Array.isArray(v) ? v.value : String(v ?? ""));

function Options({ options }: { options?: Option[] }) {
  return options?.map((o) => (
    <option key={o.value} value={o.value}>
      {o.text.text}
    </option>
  ));
}

function Select(props: Props & { options?: Option[]; groups?: OptionGroup[] }) {
  const { element, options, groups } = props;
  const { surface, value, set, confirm } = useValue(props);
  const all = [...(options ?? []), ...(groups ?? []).flatMap((g) => g.options)];
  return (
    <>
      <select
        id={props.id}
        class="control"
        data-action={element.action_id}
        aria-label={props.id ? undefined : element.placeholder?.text}
        aria-describedby={props.describedBy}
        aria-invalid={props.invalid}
        value={valueOf(value)}
        onChange={(e) => {
          const picked = all.find((o) => o.value === e.currentTarget.value);
          set(picked ? { text: picked.text.text, value: picked.value } : null);
        }}
      >
        <option value="">{element.placeholder?.text ?? surface.texts.choose}</option>
        <Options options={options} />
        {groups?.map((g) => (
          <optgroup key={g.label.text} label={g.label.text}>
            <Options options={g.options} />
          </optgroup>
        ))}
      </select>
      {confirm}
    </>
  );
}

function Overflow(props: Props) {
  const { surface, set, confirm } = useValue(props);
  const options: Option[] = props.element.options ?? [];
  return (
    <details class="overflow">
      <summary class="button" aria-label={surface.texts.more}>
        ⋯
      </summary>
      <ul>
        {options.map((o) => (
          <li key={o.value}>
            <button
              type="button"
              onClick={(e) => {
                e.currentTarget.closest("details")?.removeAttribute("open");
                set({ text: o.text.text, value: o.value });
              }}
            >
              {o.text.text}
            </button>
          </li>
        ))}
      </ul>
      {confirm}
    </details>
  );
}

function Choices(props: Props) {
  const { element } = props;
  const { value, set, confirm } = useValue(props);
  const one = element.type === "radio_buttons";
  const picked = new Set(one ? [valueOf(value)] : ((value as string[] | undefined) ?? []));
  const toggle = (o: Option) => {
    if (one) {
      set({ text: o.text.text, value: o.value });
      return;
    }
    picked.has(o.value) ? picked.delete(o.value) : picked.add(o.value);
    set([...picked]);
  };
  return (
    <div class="choices" role={one ? "radiogroup" : "group"} id={props.id} aria-describedby={props.describedBy}>
      {(element.options as Option[]).map((o) => (
        <label key={o.value}>
          <input
            type={one ? "radio" : "checkbox"}
            name={`${props.block} ${element.action_id}`}
            checked={picked.has(o.value)}
            onChange={() => toggle(o)}
          />
          <span>
            {o.text.text}
            {o.description && <small>{o.description.text}</small>}
          </span>
        </label>
      ))}
      {confirm}
    </div>
  );
}

const inputTypes: Record<string, any> = {
  number_input: "number",
  email_text_input: "email",
  url_text_input: "url",
  datepicker: "date",
  timepicker: "time",
  datetimepicker: "datetime-local",
};

// Field is a line or box of text, or a date.
function Field(props: Props) {
  const { element } = props;
  const { value, set, surface, confirm } = useValue({ ...props, dispatch: props.dispatch && !element.type.includes("input") });
  const stamp = element.type === "datetimepicker";
  const shown = stamp && value ? localOf(String(value)) : String(value ?? "");
  const common = {
    id: props.id,
    class: "control",
    "data-action": element.action_id,
    placeholder: element.placeholder?.text,
    "aria-label": props.id ? undefined : element.placeholder?.text,
    "aria-describedby": props.describedBy,
    "aria-invalid": props.invalid,
    maxLength: element.max_length,
    value: shown,
  };
  const typed = (text: string) => set(stamp && text ? String(Date.parse(text) / 1000) : text);
  if (element.multiline) {
    return <textarea rows={4} {...common} onInput={(e) => typed(e.currentTarget.value)} />;
  }
  return (
    <>
      <input
        type={inputTypes[element.type] ?? "text"}
        step={element.is_decimal_allowed ? "any" : undefined}
        {...common}
        onInput={(e) => typed(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && props.dispatch) {
            e.preventDefault();
            surface.press(props.block, element, e.currentTarget.value);
          }
        }}
      />
      {confirm}
    </>
  );
}

// localOf is a stamp in seconds as <input type=datetime-local> wants it.
function localOf(seconds: string): string {
  const at = new Date(Number(seconds) * 1000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
