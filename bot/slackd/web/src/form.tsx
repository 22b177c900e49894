// A form, which Slack calls a modal, and the home tab.
import { useState } from "preact/hooks";
import { Blocks } from "./blocks";
import type { Outcome, Value, Values, View } from "./control";
import { Dialog } from "./dialog";
import { type Desk, pressOn, suggestAt, troubleOf } from "./message";
import { elementsOf, startOf, type Surface, SurfaceContext } from "./surface";

function useViewSurface(desk: Desk, view: View, errors: Record<string, string>, touched?: (block: string) => void): [Surface, Values] {
  const [values, fill] = useState<Values>({});
  const place = { view_id: view.id };
  const surface: Surface = {
    ...desk.base,
    errors,
    value: (b, a) => values[b]?.[a],
    fill: (b, a, v) => {
      fill((old) => ({ ...old, [b]: { ...old[b], [a]: v } }));
      touched?.(b);
    },
    press: (b, e, v) => desk.report(pressOn(desk.control, desk.user, place, b, e, v)),
    suggest: (b, e, typed) => suggestAt(desk.control, desk.user, place, b, e, typed),
  };
  return [surface, values];
}

// filled is everything that the form holds, what nobody touched included.
function filled(view: View, values: Values): Values {
  const out: Values = {};
  for (const block of view.blocks) {
    for (const e of elementsOf(block)) {
      const id = block.block_id ?? "";
      const v: Value | undefined = values[id]?.[e.action_id] ?? startOf(e);
      if (v != null && v !== "") {
        out[id] = { ...out[id], [e.action_id]: v };
      }
    }
  }
  return out;
}

export function Form({ desk, view }: { desk: Desk; view: View }) {
  const [errors, fail] = useState<Record<string, string>>({});
  const [busy, work] = useState(false);
  const [trouble, tell] = useState("");
  const [surface, values] = useViewSurface(desk, view, errors, (block) => fail(({ [block]: _, ...rest }) => rest));
  const { texts } = desk.base;
  const close = () => desk.report(desk.control.post("close", { user: desk.user, view_id: view.id }));
  const submit = async () => {
    work(true);
    const form = { user: desk.user, view_id: view.id, values: filled(view, values) };
    const got = await desk.control.post<Outcome>("submit", form).catch((e: Error): Outcome => ({ outcome: "refused", error: e.message }));
    const missing = Object.fromEntries((got.missing ?? []).map((b) => [b, texts.required]));
    fail({ ...missing, ...got.errors });
    tell(got.missing?.length || got.errors ? "" : troubleOf(got, texts));
    work(false);
  };
  return (
    <Dialog class="form" label={view.title?.text ?? ""} onClose={close}>
      <form
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        <header>
          <h2>{view.title?.text}</h2>
          <button type="button" class="icon" aria-label={texts.close} onClick={close}>
            ✕
          </button>
        </header>
        <SurfaceContext.Provider value={surface}>
          <div class="fill">
            {trouble && (
              <p class="wrong" role="alert">
                {trouble}
              </p>
            )}
            <Blocks blocks={view.blocks} where={view.id} />
          </div>
        </SurfaceContext.Provider>
        <footer>
          <button type="button" class="button" onClick={close}>
            {view.close?.text ?? (view.submit ? texts.cancel : texts.close)}
          </button>
          {(view.submit || view.blocks.some((b) => b.type === "input")) && (
            <button type="submit" class="button primary" disabled={busy}>
              {view.submit?.text ?? texts.submit}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

export function Home({ desk, view }: { desk: Desk; view: View | null | undefined }) {
  const [surface] = useViewSurface(desk, view ?? { id: "", type: "home", blocks: [] }, {});
  return (
    <SurfaceContext.Provider value={surface}>
      <div class="home">{view ? <Blocks blocks={view.blocks} where={view.id} /> : <p class="note">{desk.base.texts.noHome}</p>}</div>
    </SurfaceContext.Provider>
  );
}
