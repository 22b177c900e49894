// Many cards on one page, for pictures: the same renderer, nobody to talk to.
import { render } from "preact";
import { Blocks } from "./blocks";
import type { Block, View } from "./control";
import { SurfaceContext, type Names, type Surface } from "./surface";
import "./style.css";
import { textsOf } from "./texts";

interface Card {
  name: string;
  blocks?: Block[];
  view?: View;
}

interface Sheet {
  locale: string;
  zone: string;
  now: number; // seconds
  theme: "light" | "dark";
  names: Names;
  cards: Card[];
}

function Picture({ card, surface }: { card: Card; surface: Surface }) {
  const blocks = card.view?.blocks ?? card.blocks ?? [];
  const form = card.view?.type === "modal";
  return (
    <section class="picture" id={card.name}>
      <small>{card.name}</small>
      <SurfaceContext.Provider value={surface}>
        {form ? (
          <div class="form still">
            <header>
              <h2>{card.view?.title?.text}</h2>
            </header>
            <div class="fill">
              <Blocks blocks={blocks} where={card.name} />
            </div>
            <footer>
              <span class="button">{card.view?.close?.text ?? surface.texts.cancel}</span>
              {card.view?.submit && <span class="button primary">{card.view.submit.text}</span>}
            </footer>
          </div>
        ) : (
          <Blocks blocks={blocks} where={card.name} />
        )}
      </SurfaceContext.Provider>
    </section>
  );
}

function draw(sheet: Sheet) {
  document.documentElement.dataset.theme = sheet.theme;
  document.documentElement.lang = sheet.locale;
  const surface: Surface = {
    texts: textsOf(sheet.locale),
    reader: { locale: sheet.locale, zone: sheet.zone, now: new Date(sheet.now * 1000) },
    names: sheet.names,
    theme: sheet.theme,
    value: () => undefined,
    fill: () => undefined,
    errors: {},
    press: () => undefined,
    suggest: () => Promise.resolve({}),
    file: () => "",
  };
  render(
    <div class="sheet">
      {sheet.cards.map((c) => (
        <Picture key={c.name} card={c} surface={surface} />
      ))}
    </div>,
    document.getElementById("page") as HTMLElement,
  );
}

Object.assign(window, { draw });
