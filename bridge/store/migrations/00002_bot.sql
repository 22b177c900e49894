-- +goose Up

-- What people did in a messenger, stored before it is acknowledged. A row stays
-- for a day after its answer, so that the same delivery is known again.
create table knocks (
  key  text    primary key,
  at   integer not null,
  done integer not null default 0,
  body text    not null
) strict, without rowid;
create index knocks_open on knocks (at) where done = 0;

-- What is to be shown and was not delivered yet.
create table parcels (
  id      integer primary key autoincrement,
  rev     integer not null,
  lane    integer not null,
  surface text    not null,
  key     text    not null,
  target  text    not null,
  source  text    not null,
  after   integer not null,
  tries   integer not null,
  made    integer not null,
  body    text    not null
) strict;
create unique index parcels_key on parcels (key) where key <> '';

-- Names of messages that go out once.
create table parcels_once (
  name text    primary key,
  at   integer not null
) strict, without rowid;

-- Where the message of a key is shown.
create table copies (
  key     text    not null,
  channel text    not null,
  ts      text    not null,
  target  text    not null,
  hash    text    not null,
  at      integer not null,
  primary key (key, channel, ts)
) strict, without rowid;

-- The last news that was turned into messages.
create table news_cursor (
  only integer primary key check (only = 1),
  id   integer not null
) strict;
