// What blocks need to know of the message or form that they are part of.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Block, Channel, Fields, Option, OptionGroup, Person, Value, Workspace } from "./control";
import type { Reader } from "./dates";
import type { Texts } from "./texts";

export interface Names {
  users: Person[];
  channels: Channel[];
  groups: Workspace["groups"];
}

export interface Surface {
  texts: Texts;
  reader: Reader;
  names: Names;
  theme: "light" | "dark";
  value(block: string, action: string): Value | undefined;
  fill(block: string, action: string, value: Value): void;
  errors: Record<string, string>;
  // press tells the app about a button, or about a choice that it wants to hear of at once.
  press(block: string, element: Fields, value?: Value): void;
  suggest(block: string, element: Fields, typed: string): Promise<{ options?: Option[]; option_groups?: OptionGroup[] }>;
  file(id: string): string;
}

export const SurfaceContext = createContext<Surface | null>(null);

export function useSurface(): Surface {
  const surface = useContext(SurfaceContext);
  if (!surface) {
    throw new Error("blocks are drawn outside of a message or form");
  }
  return surface;
}

function optionValue(o: Fields | undefined): Value | undefined {
  return o && { text: o.text?.text ?? "", value: o.value };
}

// startOf is what an element holds before anybody has touched it.
export function startOf(e: Fields): Value | undefined {
  switch (e.type) {
    case "static_select":
    case "external_select":
    case "radio_buttons":
      return optionValue(e.initial_option);
    case "checkboxes":
    case "multi_static_select":
    case "multi_external_select":
      return e.initial_options?.map((o: Fields) => o.value);
    case "datetimepicker":
      return e.initial_date_time === undefined ? undefined : String(e.initial_date_time);
    default:
      return (
        e.initial_value ?? e.initial_date ?? e.initial_time ?? e.initial_user ?? e.initial_channel ?? e.initial_conversation
      );
  }
}

// elementsOf lists every element of a block that holds a value.
export function elementsOf(block: Block): Fields[] {
  switch (block.type) {
    case "input":
      return [block.element];
    case "actions":
      return block.elements ?? [];
    default:
      return block.accessory?.action_id ? [block.accessory] : [];
  }
}
