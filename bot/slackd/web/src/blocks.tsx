// Block Kit. The library draws texts, tables, charts and pictures; what
// somebody can press or fill in is drawn by controls.tsx, since the library's
// controls lead nowhere.
import type { ComponentChildren, ComponentType } from "preact";
import { Message as Renderer } from "slack-blocks-to-jsx";
import "slack-blocks-to-jsx/dist/style.css";
import type { Block, Fields } from "./control";
import { Element } from "./controls";
import { writeDate } from "./dates";
import { useSurface } from "./surface";

const Library = Renderer as unknown as ComponentType<Fields>;

// Drawn is blocks as the library draws them.
function Drawn({ blocks }: { blocks: Block[] }) {
  const { names, reader, theme } = useSurface();
  return (
    <Library
      key={`${reader.locale} ${reader.zone}`} // it keeps the first hooks that it is given
      blocks={blocks}
      name=""
      logo=""
      withoutWrapper
      theme={theme}
      data={{
        users: names.users.map((u) => ({ id: u.id, name: u.name })),
        channels: names.channels.map((c) => ({ id: c.id, name: c.name ?? "" })),
        user_groups: names.groups.map((g) => ({ id: g.id, name: g.handle })),
      }}
      hooks={{
        date: (d: { timestamp: string; format: string; fallback: string }) => (
          <time>{writeDate(d.timestamp, d.format, d.fallback, reader)}</time>
        ),
      }}
    />
  );
}

// literal is plain text as rich text: the library would read markup in it.
function literal(text: string): Fields {
  const parts = text.split(/(:[a-z0-9_+-]+:)/);
  return {
    type: "rich_text",
    elements: [
      {
        type: "rich_text_section",
        elements: parts
          .filter(Boolean)
          .map((p) => (/^:.*:$/.test(p) ? { type: "emoji", name: p.slice(1, -1) } : { type: "text", text: p })),
      },
    ],
  };
}

// Slack reads markup in verbatim mrkdwn too, it only adds none of its own; the
// library would show it raw.
export function Text({ text }: { text: Fields }) {
  const { verbatim, ...read } = text;
  return <Drawn blocks={[text.type === "mrkdwn" ? { type: "section", text: read } : (literal(text.text) as Block)]} />;
}

// plainCells makes the raw cells of a table literal.
function plainCells(block: Block): Block {
  const rows = (block.rows as Fields[][]).map((row) => row.map((c) => (c.type === "raw_text" ? literal(c.text) : c)));
  return { ...block, rows };
}

function Section({ block, id }: { block: Block; id: string }) {
  const side = block.accessory;
  return (
    <div class="section">
      <div class="words">
        {block.text && <Text text={block.text} />}
        {block.fields && (
          <div class="fields">
            {(block.fields as Fields[]).map((f, i) => (
              <Text key={i} text={f} />
            ))}
          </div>
        )}
      </div>
      {side?.type === "image" && <img class="side" src={side.image_url} alt={side.alt_text} />}
      {side?.action_id && <Element block={id} element={side} dispatch />}
    </div>
  );
}

function Context({ block }: { block: Block }) {
  return (
    <div class="context">
      {(block.elements as Fields[]).map((e, i) =>
        e.type === "image" ? <img key={i} src={e.image_url} alt={e.alt_text} /> : <Text key={i} text={e} />,
      )}
    </div>
  );
}

function Input({ block, id, where }: { block: Block; id: string; where: string }) {
  const { texts, errors } = useSurface();
  const wrong = errors[id];
  const control = `${where}-${id}-${block.element.action_id}`;
  const notes = `${control}-notes`;
  return (
    <div class="input" data-block={id}>
      <label for={control}>
        {block.label.text} {block.optional && <small>{texts.optional}</small>}
      </label>
      <Element
        block={id}
        element={block.element}
        dispatch={Boolean(block.dispatch_action)}
        id={control}
        describedBy={notes}
        invalid={Boolean(wrong)}
      />
      <div id={notes}>
        {wrong && (
          <p class="wrong" role="alert">
            {wrong}
          </p>
        )}
        {block.hint && <p class="hint">{block.hint.text}</p>}
      </div>
    </div>
  );
}

function One({ block, id, where }: { block: Block; id: string; where: string }) {
  switch (block.type) {
    case "header":
      return (
        <h3 class="header">
          <Text text={block.text} />
        </h3>
      );
    case "section":
      return <Section block={block} id={id} />;
    case "context":
      return <Context block={block} />;
    case "divider":
      return <hr />;
    case "actions":
      return (
        <div class="actions">
          {(block.elements as Fields[]).map((e, i) => (
            <Element key={e.action_id ?? i} block={id} element={e} dispatch />
          ))}
        </div>
      );
    case "input":
      return <Input block={block} id={id} where={where} />;
    case "table":
      return (
        <Wide>
          <Drawn blocks={[plainCells(block)]} />
        </Wide>
      );
    case "data_visualization":
      return (
        <Wide>
          <Drawn blocks={[block]} />
        </Wide>
      );
    default:
      return <Drawn blocks={[block]} />;
  }
}

// Wide scrolls by itself where a phone is too narrow for it.
function Wide({ children }: { children: ComponentChildren }) {
  return (
    <div class="wide" tabIndex={0}>
      {children}
    </div>
  );
}

export function Blocks({ blocks, where }: { blocks: Block[]; where: string }) {
  return (
    <div class="blocks">
      {blocks.map((b, i) => (
        <One key={b.block_id ?? i} block={b} id={b.block_id ?? ""} where={where} />
      ))}
    </div>
  );
}
