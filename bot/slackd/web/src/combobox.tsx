// A select whose options the app gives while somebody types.
import { useCombobox } from "downshift";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Fields, Option, Value } from "./control";
import { startOf, useSurface } from "./surface";

interface Props {
  block: string;
  element: Fields;
  dispatch: boolean;
  id?: string;
  describedBy?: string;
  invalid?: boolean;
}

const pause = 150; // ms without a key before the app is asked

export function Combobox({ block, element, dispatch, id, describedBy, invalid }: Props) {
  const surface = useSurface();
  const [options, show] = useState<Option[]>([]);
  const [waiting, wait] = useState(false);
  const asked = useRef(0);
  const timer = useRef<number>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const ask = (typed: string) => {
    clearTimeout(timer.current);
    if (typed.length < (element.min_query_length ?? 3)) {
      show([]);
      return;
    }
    const turn = ++asked.current;
    wait(true);
    timer.current = setTimeout(async () => {
      const found = await surface.suggest(block, element, typed).catch(() => ({ options: [], option_groups: [] }));
      if (turn === asked.current) {
        show([...(found.options ?? []), ...(found.option_groups ?? []).flatMap((g) => g.options)]);
        wait(false);
      }
    }, pause) as unknown as number;
  };

  const held = (surface.value(block, element.action_id) ?? startOf(element)) as { text: string; value: string } | undefined;
  const box = useCombobox<Option>({
    items: options,
    itemToString: (o) => o?.text.text ?? "",
    itemToKey: (o) => o?.value,
    initialInputValue: held?.text ?? "",
    inputId: id,
    onInputValueChange: ({ inputValue, type }) => {
      if (type === useCombobox.stateChangeTypes.InputChange) {
        ask(inputValue ?? "");
      }
    },
    onIsOpenChange: ({ isOpen }) => isOpen && options.length === 0 && ask(box.inputValue === held?.text ? "" : box.inputValue),
    onSelectedItemChange: ({ selectedItem }) => {
      const value: Value = selectedItem && { text: selectedItem.text.text, value: selectedItem.value };
      surface.fill(block, element.action_id, value);
      if (dispatch) {
        surface.press(block, element, value);
      }
    },
  });

  return (
    <div class="combobox">
      <input
        {...box.getInputProps({
          placeholder: element.placeholder?.text ?? surface.texts.choose,
          "aria-describedby": describedBy,
          "aria-invalid": invalid,
          ...(id ? { "aria-labelledby": undefined } : { "aria-label": element.placeholder?.text }),
        })}
        class="control"
        data-action={element.action_id}
      />
      <ul {...box.getMenuProps({ "aria-label": element.placeholder?.text ?? surface.texts.choose })} hidden={!box.isOpen}>
        {box.isOpen && waiting && <li class="note">{surface.texts.searching}</li>}
        {box.isOpen && !waiting && options.length === 0 && <li class="note">{surface.texts.none}</li>}
        {box.isOpen &&
          !waiting &&
          options.map((item, index) => (
            <li
              key={item.value}
              {...box.getItemProps({ item, index })}
              class={index === box.highlightedIndex ? "at" : ""}
              data-value={item.value}
            >
              {item.text.text}
              {item.description && <small>{item.description.text}</small>}
            </li>
          ))}
      </ul>
    </div>
  );
}
