BEGIN TRANSACTION;
CREATE TABLE copies (
  key     text    not null,
  channel text    not null,
  ts      text    not null,
  target  text    not null,
  hash    text    not null,
  at      integer not null,
  primary key (key, channel, ts)
) strict, without rowid;
CREATE TABLE enrolments (
  rental  text    not null references rentals (id),
  machine text    not null, -- the provider's id
  address text    not null,
  at      integer not null,
  primary key (rental, machine)
) strict, without rowid;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "goose_db_version" VALUES(1,0,1,'2026-11-30 12:00:00');
INSERT INTO "goose_db_version" VALUES(2,1,1,'2026-11-30 12:00:00');
INSERT INTO "goose_db_version" VALUES(3,2,1,'2026-11-30 12:00:00');
CREATE TABLE held (
  account  text    not null, -- every prefix of a path has its own row
  currency text    not null,
  micro    integer not null,
  primary key (account, currency)
) strict, without rowid;
INSERT INTO "held" VALUES('org','USD',36000000);
INSERT INTO "held" VALUES('org/team','USD',36000000);
INSERT INTO "held" VALUES('org/team/other','USD',0);
INSERT INTO "held" VALUES('org/team/other/cyd','USD',0);
INSERT INTO "held" VALUES('org/team/proj','USD',36000000);
INSERT INTO "held" VALUES('org/team/proj/ann','USD',6000000);
INSERT INTO "held" VALUES('org/team/proj/bob','USD',0);
INSERT INTO "held" VALUES('org/team/proj/dan','USD',30000000);
CREATE TABLE holds (
  rental   text    primary key references rentals (id),
  cluster  text    not null,
  account  text    not null,
  currency text    not null,
  total    integer not null,
  posted   integer not null,
  closed   integer not null
) strict, without rowid;
INSERT INTO "holds" VALUES('r-0013','c1','org/team/proj/ann','USD',10000000,4000000,0);
INSERT INTO "holds" VALUES('r-0026','c1','org/team/proj/bob','USD',10000000,12000000,0);
INSERT INTO "holds" VALUES('r-004c','c1','org/team/other/cyd','USD',6000000,3000000,1);
INSERT INTO "holds" VALUES('r-005f','c1','org/team/proj/dan','USD',30000000,0,0);
CREATE TABLE knocks (
  key  text    primary key,
  at   integer not null,
  done integer not null default 0,
  body text    not null
) strict, without rowid;
CREATE TABLE ledger (
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
INSERT INTO "ledger" VALUES(1,1796040000000000000,'2026-11-30','hold','c1','r-0013','org/team/proj/ann',10000000,'USD','','','','706d96f505c998114b81c7482f28194d7ebd12536775e96740bad283235fc9e9');
INSERT INTO "ledger" VALUES(2,1796040600000000000,'2026-11-30','post','c1','r-0013','org/team/proj/ann',1000000,'USD','','','706d96f505c998114b81c7482f28194d7ebd12536775e96740bad283235fc9e9','08bda796a5ff3d485c76deb903d474fd89bc3a4c417e3fa36d53c210c3d8ee2a');
INSERT INTO "ledger" VALUES(3,1796041200000000000,'2026-11-30','post','c1','r-0013','org/team/proj/ann',1500000,'USD','','','08bda796a5ff3d485c76deb903d474fd89bc3a4c417e3fa36d53c210c3d8ee2a','b4e98da4924882ad6c12606ae345208fd542543edebee681dad80b88f1786e81');
INSERT INTO "ledger" VALUES(4,1796041800000000000,'2026-11-30','post','c1','r-0013','org/team/proj/ann',1500000,'USD','','','b4e98da4924882ad6c12606ae345208fd542543edebee681dad80b88f1786e81','e9b2eef7238df71f02101432f0601f15c7aa549484723629b01511b4af4d0e72');
INSERT INTO "ledger" VALUES(5,1796041800000000000,'2026-11-30','hold','c1','r-0026','org/team/proj/bob',10000000,'USD','','','e9b2eef7238df71f02101432f0601f15c7aa549484723629b01511b4af4d0e72','7e00bb42d93b32e813ddeddf7097085e73311d507881ed95f5d30c2889c75e22');
INSERT INTO "ledger" VALUES(6,1796041800000000000,'2026-11-30','post','c1','r-0026','org/team/proj/bob',10000000,'USD','','','7e00bb42d93b32e813ddeddf7097085e73311d507881ed95f5d30c2889c75e22','2eefe67545531d68f86b6cce7229686d35a17a292d3908421ee53fd59e3f3f7a');
INSERT INTO "ledger" VALUES(7,1796041800000000000,'2026-11-30','adjust','c1','r-0026','org/team/proj/bob',2000000,'USD','','overrun: cost beyond the hold','2eefe67545531d68f86b6cce7229686d35a17a292d3908421ee53fd59e3f3f7a','e06b8d0cfe9fe6877ffb450335cdbc5e6f57fab4f750eb384d22b340b63ca0d6');
INSERT INTO "ledger" VALUES(8,1796041800000000000,'2026-11-30','hold','c1','r-004c','org/team/other/cyd',6000000,'USD','','','e06b8d0cfe9fe6877ffb450335cdbc5e6f57fab4f750eb384d22b340b63ca0d6','7d8adaa1fc8f9f579301ff4a00a704a3b676a9a1e4ab23218bba8b8e216bc19e');
INSERT INTO "ledger" VALUES(9,1796045400000000000,'2026-11-30','post','c1','r-004c','org/team/other/cyd',3000000,'USD','','','7d8adaa1fc8f9f579301ff4a00a704a3b676a9a1e4ab23218bba8b8e216bc19e','d2b6c2fe3800f9eb29e4d644a7ca8bef240fff9ff97f37c4d5f24a7c23baeb40');
INSERT INTO "ledger" VALUES(10,1796045400000000000,'2026-11-30','settle','c1','r-004c','org/team/other/cyd',3000000,'USD','','','d2b6c2fe3800f9eb29e4d644a7ca8bef240fff9ff97f37c4d5f24a7c23baeb40','88ce9cddc6745d3df67740fce007274361a3b11d32b2d7fc253d743cac46ae50');
INSERT INTO "ledger" VALUES(11,1796045400000000000,'2026-11','overage','c1','r-005f','org/team',15000000,'USD','boss','above the month limit of org/team','88ce9cddc6745d3df67740fce007274361a3b11d32b2d7fc253d743cac46ae50','526fecaadbfe4b16ca5d0aca9507509752d9ef6487a7c0b21e5b7838a80093ce');
INSERT INTO "ledger" VALUES(12,1796045400000000000,'2026-11-30','hold','c1','r-005f','org/team/proj/dan',30000000,'USD','','','526fecaadbfe4b16ca5d0aca9507509752d9ef6487a7c0b21e5b7838a80093ce','f89b5242604ec9aceb4f0ceed2c2bd5053348f6c1c2e23ad5d3cfa25118b7a16');
CREATE TABLE lines (
  seq      integer not null references ledger (seq),
  n        integer not null,
  account  text    not null,
  book     text    not null,
  micro    integer not null,
  currency text    not null,
  primary key (seq, n)
) strict, without rowid;
INSERT INTO "lines" VALUES(1,0,'org/team/proj/ann','room',-10000000,'USD');
INSERT INTO "lines" VALUES(1,1,'org/team/proj/ann','held',10000000,'USD');
INSERT INTO "lines" VALUES(2,0,'org/team/proj/ann','held',-1000000,'USD');
INSERT INTO "lines" VALUES(2,1,'org/team/proj/ann','posted',1000000,'USD');
INSERT INTO "lines" VALUES(3,0,'org/team/proj/ann','held',-1500000,'USD');
INSERT INTO "lines" VALUES(3,1,'org/team/proj/ann','posted',1500000,'USD');
INSERT INTO "lines" VALUES(4,0,'org/team/proj/ann','held',-1500000,'USD');
INSERT INTO "lines" VALUES(4,1,'org/team/proj/ann','posted',1500000,'USD');
INSERT INTO "lines" VALUES(5,0,'org/team/proj/bob','room',-10000000,'USD');
INSERT INTO "lines" VALUES(5,1,'org/team/proj/bob','held',10000000,'USD');
INSERT INTO "lines" VALUES(6,0,'org/team/proj/bob','held',-10000000,'USD');
INSERT INTO "lines" VALUES(6,1,'org/team/proj/bob','posted',10000000,'USD');
INSERT INTO "lines" VALUES(7,0,'org/team/proj/bob','room',-2000000,'USD');
INSERT INTO "lines" VALUES(7,1,'org/team/proj/bob','posted',2000000,'USD');
INSERT INTO "lines" VALUES(8,0,'org/team/other/cyd','room',-6000000,'USD');
INSERT INTO "lines" VALUES(8,1,'org/team/other/cyd','held',6000000,'USD');
INSERT INTO "lines" VALUES(9,0,'org/team/other/cyd','held',-3000000,'USD');
INSERT INTO "lines" VALUES(9,1,'org/team/other/cyd','posted',3000000,'USD');
INSERT INTO "lines" VALUES(10,0,'org/team/other/cyd','room',3000000,'USD');
INSERT INTO "lines" VALUES(10,1,'org/team/other/cyd','held',-3000000,'USD');
INSERT INTO "lines" VALUES(11,0,'org/team','overage',-15000000,'USD');
INSERT INTO "lines" VALUES(11,1,'org/team','room',15000000,'USD');
INSERT INTO "lines" VALUES(12,0,'org/team/proj/dan','room',-30000000,'USD');
INSERT INTO "lines" VALUES(12,1,'org/team/proj/dan','held',30000000,'USD');
CREATE TABLE marks (
  only integer primary key check (only = 1),
  body text    not null
) strict;
CREATE TABLE meta (
  only        integer primary key check (only = 1),
  store_id    text    not null,
  epoch       integer not null,
  rentals     integer not null default 0, -- ids given so far
  ledger_seq  integer not null default 0,
  ledger_hash text    not null default ''
) strict;
INSERT INTO "meta" VALUES(1,'before',1,5,12,'f89b5242604ec9aceb4f0ceed2c2bd5053348f6c1c2e23ad5d3cfa25118b7a16');
CREATE TABLE news (
  id     integer primary key autoincrement,
  at     integer not null,
  kind   text    not null,
  rental text    not null,
  job    text    not null,
  body   text    not null
) strict;
INSERT INTO "news" VALUES(1,1796040000000000000,'reserved','','','{"id":0,"at":"2026-11-30T12:00:00Z","kind":"reserved","cost":{"micro":0,"currency":""}}');
INSERT INTO "news" VALUES(2,1796041800000000000,'warning','r-0026','','{"id":0,"at":"2026-11-30T12:30:00Z","kind":"warning","cluster":"c1","rental":"r-0026","pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"cost":{"micro":2000000,"currency":"USD"},"text":"cost 12.00 USD is beyond the hold of 10.00 USD by 2.00 USD"}');
INSERT INTO "news" VALUES(3,1796040000000000000,'asked','','','{"id":0,"at":"2026-11-30T12:00:00Z","kind":"asked","cost":{"micro":0,"currency":""}}');
INSERT INTO "news" VALUES(4,1796040000000000000,'settled','','','{"id":0,"at":"2026-11-30T12:00:00Z","kind":"settled","cost":{"micro":0,"currency":""}}');
INSERT INTO "news" VALUES(5,1796040000000000000,'asked','','','{"id":0,"at":"2026-11-30T12:00:00Z","kind":"asked","cost":{"micro":0,"currency":""}}');
INSERT INTO "news" VALUES(6,1796040000000000000,'approved','','','{"id":0,"at":"2026-11-30T12:00:00Z","kind":"approved","cost":{"micro":0,"currency":""}}');
CREATE TABLE news_cursor (
  only integer primary key check (only = 1),
  id   integer not null
) strict;
CREATE TABLE parcels (
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
CREATE TABLE parcels_once (
  name text    primary key,
  at   integer not null
) strict, without rowid;
CREATE TABLE posted (
  account  text    not null,
  currency text    not null,
  quarter  integer not null, -- quarter hours of UTC since 1970
  micro    integer not null,
  primary key (account, currency, quarter)
) strict, without rowid;
INSERT INTO "posted" VALUES('org','USD',1995600,1000000);
INSERT INTO "posted" VALUES('org','USD',1995601,1500000);
INSERT INTO "posted" VALUES('org','USD',1995602,13500000);
INSERT INTO "posted" VALUES('org','USD',1995606,3000000);
INSERT INTO "posted" VALUES('org/team','USD',1995600,1000000);
INSERT INTO "posted" VALUES('org/team','USD',1995601,1500000);
INSERT INTO "posted" VALUES('org/team','USD',1995602,13500000);
INSERT INTO "posted" VALUES('org/team','USD',1995606,3000000);
INSERT INTO "posted" VALUES('org/team/other','USD',1995606,3000000);
INSERT INTO "posted" VALUES('org/team/other/cyd','USD',1995606,3000000);
INSERT INTO "posted" VALUES('org/team/proj','USD',1995600,1000000);
INSERT INTO "posted" VALUES('org/team/proj','USD',1995601,1500000);
INSERT INTO "posted" VALUES('org/team/proj','USD',1995602,13500000);
INSERT INTO "posted" VALUES('org/team/proj/ann','USD',1995600,1000000);
INSERT INTO "posted" VALUES('org/team/proj/ann','USD',1995601,1500000);
INSERT INTO "posted" VALUES('org/team/proj/ann','USD',1995602,1500000);
INSERT INTO "posted" VALUES('org/team/proj/bob','USD',1995602,12000000);
CREATE TABLE rentals (
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
INSERT INTO "rentals" VALUES(1,'r-0013',6,'admitted',0,'c1','org/team/proj/ann','',1796041800000000000,'{"id":"r-0013","version":6,"state":"admitted","since":"2026-11-30T12:00:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"","gang":1,"pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"shape":{"cpus":8,"memory_mib":0,"gpu_type":"h100","gpus":1},"rate":{"micro_per_hour":0,"currency":""},"max_rate":{"micro_per_hour":0,"currency":""},"step":0,"minimum":0,"count":1,"attempt":0,"life":0,"idle":0,"hold":{"micro":10000000,"currency":"USD"},"cost":{"micro":4000000,"currency":"USD"},"created":"2026-11-30T12:00:00Z","expires":"2026-11-30T13:00:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":{"spillway-store":"before"},"user_data":"","expires":"0001-01-01T00:00:00Z"},"idle_since":"0001-01-01T00:00:00Z","why":""}');
INSERT INTO "rentals" VALUES(2,'r-0026',3,'releasing',0,'c1','org/team/proj/bob','',1796041800000000000,'{"id":"r-0026","version":3,"state":"releasing","since":"2026-11-30T12:00:00Z","cluster":"c1","account":"org/team/proj/bob","requester":"ann","class":"","gang":1,"pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"shape":{"cpus":8,"memory_mib":0,"gpu_type":"h100","gpus":1},"rate":{"micro_per_hour":0,"currency":""},"max_rate":{"micro_per_hour":0,"currency":""},"step":0,"minimum":0,"count":1,"attempt":0,"life":0,"idle":0,"hold":{"micro":10000000,"currency":"USD"},"cost":{"micro":12000000,"currency":"USD"},"created":"2026-11-30T12:00:00Z","expires":"2026-11-30T13:00:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":{"spillway-store":"before"},"user_data":"","expires":"0001-01-01T00:00:00Z"},"idle_since":"0001-01-01T00:00:00Z","why":""}');
INSERT INTO "rentals" VALUES(3,'r-0039',1,'waiting',0,'c1','org/team/proj/ann','',1796041800000000000,'{"id":"r-0039","version":1,"state":"waiting","since":"2026-11-30T12:00:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"","gang":1,"pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"shape":{"cpus":8,"memory_mib":0,"gpu_type":"h100","gpus":1},"rate":{"micro_per_hour":0,"currency":""},"max_rate":{"micro_per_hour":0,"currency":""},"step":0,"minimum":0,"count":1,"attempt":0,"life":0,"idle":0,"hold":{"micro":5000000,"currency":"USD"},"cost":{"micro":0,"currency":""},"created":"2026-11-30T12:00:00Z","expires":"2026-11-30T13:00:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":{"spillway-store":"before"},"user_data":"","expires":"0001-01-01T00:00:00Z"},"idle_since":"0001-01-01T00:00:00Z","why":"","revision":1,"digest":"e14327b8d183c154d057052fcfd8f77488a9407aaa3e6d79d6554ade434b719e"}');
INSERT INTO "rentals" VALUES(4,'r-004c',3,'settled',1,'c1','org/team/other/cyd','',1796045400000000000,'{"id":"r-004c","version":3,"state":"settled","since":"2026-11-30T12:00:00Z","cluster":"c1","account":"org/team/other/cyd","requester":"ann","class":"","gang":1,"pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"shape":{"cpus":8,"memory_mib":0,"gpu_type":"h100","gpus":1},"rate":{"micro_per_hour":0,"currency":""},"max_rate":{"micro_per_hour":0,"currency":""},"step":0,"minimum":0,"count":1,"attempt":0,"life":0,"idle":0,"hold":{"micro":6000000,"currency":"USD"},"cost":{"micro":3000000,"currency":"USD"},"created":"2026-11-30T12:00:00Z","expires":"2026-11-30T13:00:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":{"spillway-store":"before"},"user_data":"","expires":"0001-01-01T00:00:00Z"},"idle_since":"0001-01-01T00:00:00Z","why":""}');
INSERT INTO "rentals" VALUES(5,'r-005f',2,'launching',0,'c1','org/team/proj/dan','',1796045400000000000,'{"id":"r-005f","version":2,"state":"launching","since":"2026-11-30T12:00:00Z","cluster":"c1","account":"org/team/proj/dan","requester":"ann","class":"","gang":1,"pool":{"cloud":"north","region":"r1","zone":"a","type":"gpu.1","market":"on-demand"},"shape":{"cpus":8,"memory_mib":0,"gpu_type":"h100","gpus":1},"rate":{"micro_per_hour":0,"currency":""},"max_rate":{"micro_per_hour":0,"currency":""},"step":0,"minimum":0,"count":1,"attempt":0,"life":0,"idle":0,"hold":{"micro":30000000,"currency":"USD"},"cost":{"micro":0,"currency":""},"created":"2026-11-30T12:00:00Z","expires":"2026-11-30T13:00:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":{"spillway-store":"before"},"user_data":"","expires":"0001-01-01T00:00:00Z"},"idle_since":"0001-01-01T00:00:00Z","why":"","approved_by":"boss","revision":1,"digest":"cc0dfa1b5b0c0bf0159add777198f77a494c101e4ba0f0dcaf28120c910a340a","yeses":[{"who":"boss","at":"2026-11-30T13:30:00Z"}]}');
CREATE INDEX rentals_live on rentals (num, id, version) where ended = 0;
CREATE UNIQUE INDEX rentals_key on rentals (key) where key <> '';
CREATE INDEX ledger_rental on ledger (rental, seq);
CREATE INDEX news_rental on news (rental, id) where rental <> '';
CREATE INDEX news_job on news (job, id) where job <> '';
CREATE TRIGGER ledger_keeps before update on ledger begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER ledger_stays before delete on ledger begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER lines_keep before update on lines begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER lines_stay before delete on lines begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER news_keep before update on news begin select raise(abort, 'news are append-only'); end;
CREATE TRIGGER news_stay before delete on news begin select raise(abort, 'news are append-only'); end;
CREATE INDEX knocks_open on knocks (at) where done = 0;
CREATE UNIQUE INDEX parcels_key on parcels (key) where key <> '';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('goose_db_version',3);
INSERT INTO "sqlite_sequence" VALUES('rentals',5);
INSERT INTO "sqlite_sequence" VALUES('news',6);
COMMIT;
