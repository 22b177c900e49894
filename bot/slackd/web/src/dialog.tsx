// Dialogs are the browser's own: they keep the focus and close on Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "./blocks";
import type { Fields } from "./control";
import { useSurface } from "./surface";

interface DialogProps {
  class: string;
  label: string;
  onClose(): void;
  children: ComponentChildren;
}

export function Dialog({ label, onClose, children, ...rest }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>(".fill :is(input, select, textarea, button)")?.focus();
  }, []);
  return (
    <dialog
      ref={ref}
      class={rest.class}
      aria-label={label}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
    >
      {children}
    </dialog>
  );
}

export function Confirm({ confirm, done }: { confirm: Fields; done(yes: boolean): void }) {
  const { texts } = useSurface();
  return (
    <Dialog class="confirm" label={confirm.title?.text ?? ""} onClose={() => done(false)}>
      <h2>{confirm.title?.text}</h2>
      <div class="words">{confirm.text && <Text text={confirm.text} />}</div>
      <footer>
        <button type="button" class="button" onClick={() => done(false)}>
          {confirm.deny?.text ?? texts.cancel}
        </button>
        <button type="button" class={`button ${confirm.style ?? "primary"}`} data-confirm onClick={() => done(true)}>
          {confirm.confirm?.text ?? "OK"}
        </button>
      </footer>
    </Dialog>
  );
}
