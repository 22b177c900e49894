-- +goose Up

-- One row: who this store is, who may write, and where its counters stand.
create table meta (
  only        integer primary key check (only = 1),
  store_id    text    not null,
  epoch       integer not null,
  rentals     integer not null default 0, -- ids given so far
  ledger_seq  integer not null default 0,
  ledger_hash text    not null default ''
) strict;

create table rentals (
  num     integer primary key autoincrement,
  id      text    not null unique,
  version integer not null,
  state   text    not null,
  ended   integer not null,
  cluster text    not null,
  account text    not null,
  key     text    not null, -- of a request made by hand
  changed integer not null, -- unix nanoseconds, UTC, as all times here
  body    text    not null  -- the whole rental in JSON
) strict;
create index rentals_live on rentals (num, id, version) where ended = 0;
create unique index rentals_key on rentals (key) where key <> '';

-- The ledger. Amounts are micro-units of a currency.
create table ledger (
  seq      integer primary key,
  at       integer not null,
  period   text    not null,
  kind     text    not null,
  cluster  text    not null,
  rental   text    not null references rentals (id),
  account  text    not null,
  micro    integer not null,
  currency text    not null,
  who      text    not null,
  memo     text    not null,
  prev     text    not null,
  hash     text    not null
) strict;
create index ledger_rental on ledger (rental, seq);

create table lines (
  seq      integer not null references ledger (seq),
  n        integer not null,
  account  text    not null,
  book     text    not null,
  micro    integer not null,
  currency text    not null,
  primary key (seq, n)
) strict, without rowid;

-- What the ledger adds up to, written in the same transaction as its rows and
-- compared with a replay by the ledger check.
create table holds (
  rental   text    primary key references rentals (id),
  cluster  text    not null,
  account  text    not null,
  currency text    not null,
  total    integer not null,
  posted   integer not null,
  closed   integer not null
) strict, without rowid;

create table held (
  account  text    not null, -- every prefix of a path has its own row
  currency text    not null,
  micro    integer not null,
  primary key (account, currency)
) strict, without rowid;

create table posted (
  account  text    not null,
  currency text    not null,
  quarter  integer not null, -- quarter hours of UTC since 1970
  micro    integer not null,
  primary key (account, currency, quarter)
) strict, without rowid;

create table news (
  id     integer primary key autoincrement,
  at     integer not null,
  kind   text    not null,
  rental text    not null,
  job    text    not null,
  body   text    not null
) strict;
create index news_rental on news (rental, id) where rental <> '';
create index news_job on news (job, id) where job <> '';

create table marks (
  only integer primary key check (only = 1),
  body text    not null
) strict;

create table enrolments (
  rental  text    not null references rentals (id),
  machine text    not null, -- the provider's id
  address text    not null,
  at      integer not null,
  primary key (rental, machine)
) strict, without rowid;

-- +goose StatementBegin
create trigger ledger_keeps before update on ledger begin select raise(abort, 'the ledger is append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger ledger_stays before delete on ledger begin select raise(abort, 'the ledger is append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger lines_keep before update on lines begin select raise(abort, 'the ledger is append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger lines_stay before delete on lines begin select raise(abort, 'the ledger is append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger news_keep before update on news begin select raise(abort, 'news are append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger news_stay before delete on news begin select raise(abort, 'news are append-only'); end;
-- +goose StatementEnd
