// Dates as Slack writes them, in the zone and language of the reader.

export interface Reader {
  locale: string;
  zone?: string;
  now: Date;
}

type Style = Intl.DateTimeFormatOptions;

const styles: Record<string, Style> = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { year: "numeric", month: "long", day: "numeric" },
  date_short: { year: "numeric", month: "short", day: "numeric" },
  date_long: { year: "numeric", month: "long", day: "numeric", weekday: "long" },
  time: { hour: "2-digit", minute: "2-digit" },
  time_secs: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
};

function write(at: Date, style: Style, reader: Reader): string {
  return new Intl.DateTimeFormat(reader.locale, { ...style, timeZone: reader.zone, hourCycle: "h23" }).format(at);
}

// day is a calendar day of the reader, in a form that can be compared.
function day(at: Date, reader: Reader): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: reader.zone }).format(at);
}

// near says today, tomorrow or yesterday where that is so.
function near(at: Date, reader: Reader): string | undefined {
  const words = new Intl.RelativeTimeFormat(reader.locale, { numeric: "auto" });
  for (const off of [0, 1, -1]) {
    if (day(at, reader) === day(new Date(reader.now.getTime() + off * 86_400_000), reader)) {
      return words.format(off, "day");
    }
  }
  return undefined;
}

// writeDate fills the tokens of a <!date^...> in, such as {date_short_pretty}.
export function writeDate(seconds: string, format: string, fallback: string, reader: Reader): string {
  const at = new Date(Number(seconds) * 1000);
  if (!seconds || Number.isNaN(at.getTime())) {
    return fallback;
  }
  return format.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (name === "ago") {
      return writeAgo(at, reader);
    }
    const plain = name.replace(/_pretty$/, "");
    const style = styles[plain];
    if (!style) {
      return whole;
    }
    return (plain !== name && near(at, reader)) || write(at, style, reader);
  });
}

function writeAgo(at: Date, reader: Reader): string {
  const words = new Intl.RelativeTimeFormat(reader.locale, { numeric: "auto" });
  const minutes = Math.round((at.getTime() - reader.now.getTime()) / 60_000);
  if (Math.abs(minutes) < 60) {
    return words.format(minutes, "minute");
  }
  if (Math.abs(minutes) < 24 * 60) {
    return words.format(Math.round(minutes / 60), "hour");
  }
  return words.format(Math.round(minutes / (24 * 60)), "day");
}

export function clockOf(ts: string, reader: Reader): string {
  return write(new Date(Number(ts) * 1000), styles.time, reader);
}

export function dayOf(ts: string, reader: Reader): string {
  const at = new Date(Number(ts) * 1000);
  return near(at, reader) ?? write(at, styles.date_long, reader);
}
