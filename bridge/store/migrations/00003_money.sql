-- +goose Up

-- Where money goes, when it was used, and what a bill changed afterwards. Rows
-- of before have none of it; a hold that was open then goes on without.
alter table ledger add column cloud text    not null default '';
alter table ledger add column gpu   text    not null default '';
alter table ledger add column used  integer not null default 0; -- zero: at
alter table ledger add column key   text    not null default ''; -- of a correction
alter table ledger add column fx    text    not null default '';
create unique index ledger_key on ledger (key) where key <> '';

alter table holds add column cloud text not null default '';
alter table holds add column gpu   text not null default '';
alter table holds add column fx    text not null default '';

create table held_new (
  account  text    not null, -- every prefix of a path has its own rows
  currency text    not null,
  cloud    text    not null,
  gpu      text    not null,
  micro    integer not null,
  primary key (account, currency, cloud, gpu)
) strict, without rowid;
insert into held_new select account, currency, '', '', micro from held;
drop table held;
alter table held_new rename to held;

create table posted_new (
  account  text    not null,
  currency text    not null,
  quarter  integer not null, -- quarter hours of UTC since 1970
  cloud    text    not null,
  gpu      text    not null,
  micro    integer not null,
  primary key (account, currency, quarter, cloud, gpu)
) strict, without rowid;
insert into posted_new select account, currency, quarter, '', '', micro from posted;
drop table posted;
alter table posted_new rename to posted;
create index posted_quarter on posted (quarter);

-- From when to when a rental had its hold; zero: never, or not ended yet.
alter table rentals add column held_from  integer not null default 0;
alter table rentals add column held_until integer not null default 0;
update rentals set
  held_from  = coalesce((select min(at) from ledger where rental = rentals.id and kind = 'hold'), 0),
  held_until = coalesce((select max(at) from ledger where rental = rentals.id and kind in ('settle', 'void')), 0);
create index rentals_open  on rentals (num) where held_from > 0 and held_until = 0;
create index rentals_ended on rentals (held_until, held_from) where held_until > 0;

create index news_at on news (at, kind);

-- Names of news that are told a single time.
create table news_once (
  name text    primary key,
  at   integer not null
) strict, without rowid;

-- What GPUs did, by the hour. Seconds of GPUs, but for the column seconds.
create table usage (
  hour        integer not null, -- its first instant
  cluster     text    not null,
  gpu         text    not null,
  seconds     integer not null,
  owned       integer not null,
  owned_busy  integer not null,
  rented      integer not null,
  rented_busy integer not null,
  waiting     integer not null,
  measured    integer not null,
  useful      integer not null,
  primary key (hour, cluster, gpu)
) strict, without rowid;

-- Lines of bills, as they were read.
create table bills (
  cloud   text    not null,
  key     text    not null,
  "from"  integer not null,
  until   integer not null,
  at      integer not null, -- when it was stored
  body    text    not null,
  primary key (cloud, key)
) strict, without rowid;
create index bills_until on bills (until, "from");

-- +goose StatementBegin
create trigger bills_keep before update on bills begin select raise(abort, 'bills are append-only'); end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger bills_stay before delete on bills begin select raise(abort, 'bills are append-only'); end;
-- +goose StatementEnd
