-- schema 3
pragma foreign_keys = off;
begin;
CREATE TABLE bills (
  cloud   text    not null,
  key     text    not null,
  "from"  integer not null,
  until   integer not null,
  at      integer not null, -- when it was stored
  body    text    not null,
  primary key (cloud, key)
) strict, without rowid;
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
CREATE TABLE "held" (
  account  text    not null, -- every prefix of a path has its own rows
  currency text    not null,
  cloud    text    not null,
  gpu      text    not null,
  micro    integer not null,
  primary key (account, currency, cloud, gpu)
) strict, without rowid;
CREATE TABLE holds (
  rental   text    primary key references rentals (id),
  cluster  text    not null,
  account  text    not null,
  currency text    not null,
  total    integer not null,
  posted   integer not null,
  closed   integer not null
, cloud text not null default '', gpu   text not null default '', fx    text not null default '') strict, without rowid;
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
, cloud text    not null default '', gpu   text    not null default '', used  integer not null default 0, key   text    not null default '', fx    text    not null default '') strict;
CREATE TABLE lines (
  seq      integer not null references ledger (seq),
  n        integer not null,
  account  text    not null,
  book     text    not null,
  micro    integer not null,
  currency text    not null,
  primary key (seq, n)
) strict, without rowid;
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
CREATE TABLE news (
  id     integer primary key autoincrement,
  at     integer not null,
  kind   text    not null,
  rental text    not null,
  job    text    not null,
  body   text    not null
) strict;
CREATE TABLE news_cursor (
  only integer primary key check (only = 1),
  id   integer not null
) strict;
CREATE TABLE news_once (
  name text    primary key,
  at   integer not null
) strict, without rowid;
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
CREATE TABLE "posted" (
  account  text    not null,
  currency text    not null,
  quarter  integer not null, -- quarter hours of UTC since 1970
  cloud    text    not null,
  gpu      text    not null,
  micro    integer not null,
  primary key (account, currency, quarter, cloud, gpu)
) strict, without rowid;
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
, held_from  integer not null default 0, held_until integer not null default 0) strict;
CREATE TABLE usage (
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
delete from sqlite_sequence;
insert into "bills" values ('a','1/1',946679340000000000,946682940000000000,946682940000000000,'{"cloud":"a","invoice":"1","key":"1/1","machine":"a-901","rental":"r-004c","from":"1999-12-31T22:29:00Z","to":"1999-12-31T23:29:00Z","kind":"usage","amount":{"micro":7000000,"currency":"USD"}}');
insert into "copies" values ('rental/1','C1','1.2','C1','h',946681980000000000);
insert into "enrolments" values ('r-006j','a-904','10.0.0.1',946683630000000000);
insert into "enrolments" values ('r-006j','a-905','10.0.0.1',946683630000000000);
insert into "goose_db_version" values (1,0,1,'2000-01-01 00:00:00');
insert into "goose_db_version" values (2,1,1,'2000-01-01 00:00:00');
insert into "goose_db_version" values (3,2,1,'2000-01-01 00:00:00');
insert into "goose_db_version" values (4,3,1,'2000-01-01 00:00:00');
insert into "held" values ('org','USD','a','a100',390500000);
insert into "held" values ('org/team','USD','a','a100',390500000);
insert into "held" values ('org/team/proj','USD','a','a100',390500000);
insert into "held" values ('org/team/proj/ann','USD','a','a100',390500000);
insert into "holds" values ('r-0039','c1','org/team/proj/ann','USD',48000000,0,0,'a','a100','');
insert into "holds" values ('r-004c','c1','org/team/proj/ann','USD',4000000,7000000,1,'a','a100','');
insert into "holds" values ('r-005f','c1','org/team/proj/ann','USD',96000000,0,0,'a','a100','');
insert into "holds" values ('r-006j','c1','org/team/proj/ann','USD',104000000,1500000,0,'a','a100','');
insert into "holds" values ('r-007n','c1','org/team/proj/ann','USD',48000000,0,0,'a','a100','');
insert into "holds" values ('r-008r','c1','org/team/proj/ann','USD',48000000,0,0,'a','a100','');
insert into "holds" values ('r-009v','c1','org/team/proj/ann','USD',48000000,0,0,'a','a100','');
insert into "knocks" values ('k1',946681980000000000,1,'');
insert into "knocks" values ('k2',946681980000000000,0,'{"b":2}');
insert into "ledger" values (1,946681980000000000,'1999-12','overage','c1','r-0039','org/team',43000000,'USD','bea','above the month limit of org/team','','dc1b21f9e14a6b29704a9aa4bf995b87022b03bf1aefbd55e088a6c1170ac70a','','',0,'','');
insert into "ledger" values (10,946683570000000000,'1999-12-31','hold','c1','r-006j','org/team/proj/ann',96000000,'USD','','','8d0f9f9e041b6fbb6ff3ca2fd74ae189ebb97f9576ce5fa92076b84e7f74e598','b0a28a905df2bd530005e6ac2132734b3e3d016bcb53a5d619f65a87418fe649','a','a100',0,'','');
insert into "ledger" values (11,946683630000000000,'1999-12-31','post','c1','r-006j','org/team/proj/ann',1500000,'USD','','','b0a28a905df2bd530005e6ac2132734b3e3d016bcb53a5d619f65a87418fe649','ae10e39f794e4738980ae9fb90536f7a8d98719bf1280d0d716c4a69cc462662','a','a100',0,'','');
insert into "ledger" values (12,946683630000000000,'1999-12-31','extend','c1','r-006j','org/team/proj/ann',8000000,'USD','','','ae10e39f794e4738980ae9fb90536f7a8d98719bf1280d0d716c4a69cc462662','b80ab9e3cd7981627bbb6a1590941cfa48f878c29a744972818df18784e1c9f1','a','a100',0,'','');
insert into "ledger" values (13,946683930000000000,'1999-12-31','hold','c1','r-007n','org/team/proj/ann',48000000,'USD','','','b80ab9e3cd7981627bbb6a1590941cfa48f878c29a744972818df18784e1c9f1','7aff2bfa46bfe2dd52d4f8323f8f025cded30518583fe4ff7664268dcfa638c3','a','a100',0,'','');
insert into "ledger" values (14,946684320000000000,'1999-12-31','hold','c1','r-008r','org/team/proj/ann',48000000,'USD','','','7aff2bfa46bfe2dd52d4f8323f8f025cded30518583fe4ff7664268dcfa638c3','5752bff8fcdc50939ee01aa9d83c49d8a5737765b182ba7a18cbdc1c0990b1c4','a','a100',0,'','');
insert into "ledger" values (15,946684740000000000,'1999-12-31','hold','c1','r-009v','org/team/proj/ann',48000000,'USD','','','5752bff8fcdc50939ee01aa9d83c49d8a5737765b182ba7a18cbdc1c0990b1c4','9ad07fb9d367cd1df260db314fb16e29f37dc60b37c84bed8e29eaeeb0d12c60','a','a100',0,'','');
insert into "ledger" values (2,946681980000000000,'1999-12-31','hold','c1','r-0039','org/team/proj/ann',48000000,'USD','','','dc1b21f9e14a6b29704a9aa4bf995b87022b03bf1aefbd55e088a6c1170ac70a','80cdd7d2ec1582fb3a57bb3cf2ab11e3498a6b2aa0377590597f56c1bc1fe6b7','a','a100',0,'','');
insert into "ledger" values (3,946682280000000000,'1999-12-31','hold','c1','r-004c','org/team/proj/ann',4000000,'USD','','','80cdd7d2ec1582fb3a57bb3cf2ab11e3498a6b2aa0377590597f56c1bc1fe6b7','a302707ff01e1b2c0e1e0288f29b2e06424c00eb23f064250b8c4c8ea8724908','a','a100',0,'','');
insert into "ledger" values (4,946682340000000000,'1999-12-31','post','c1','r-004c','org/team/proj/ann',4000000,'USD','','','a302707ff01e1b2c0e1e0288f29b2e06424c00eb23f064250b8c4c8ea8724908','7cb80f50631bdef8a799b1f46ee12650d77199b09932ae659d4b86a93cd850c7','a','a100',0,'','');
insert into "ledger" values (5,946682340000000000,'1999-12-31','adjust','c1','r-004c','org/team/proj/ann',1000000,'USD','','overrun: cost beyond the hold','7cb80f50631bdef8a799b1f46ee12650d77199b09932ae659d4b86a93cd850c7','e9001d707191c43b1e1c219d2bcfcc00fe858f8038c7e70dcb62f6f60ab43c0b','a','a100',0,'','');
insert into "ledger" values (6,946682940000000000,'1999-12-31','adjust','c1','r-004c','org/team/proj/ann',1000000,'USD','','overrun: cost beyond the hold','e9001d707191c43b1e1c219d2bcfcc00fe858f8038c7e70dcb62f6f60ab43c0b','849124c5e5d665a374a3bd1d9769b44d47c106a5795ca8d6121da6346975014f','a','a100',0,'','');
insert into "ledger" values (7,946682940000000000,'1999-12-31','settle','c1','r-004c','org/team/proj/ann',0,'USD','','','849124c5e5d665a374a3bd1d9769b44d47c106a5795ca8d6121da6346975014f','239ae4b9095849352aec81e8fd13274b81ddc658e6303b936f1304182afb0728','a','a100',0,'','');
insert into "ledger" values (8,946682940000000000,'1999-12-31','bill','c1','r-004c','org/team/proj/ann',1000000,'USD','root','invoice 1','239ae4b9095849352aec81e8fd13274b81ddc658e6303b936f1304182afb0728','886efd5594a7c9f0e0f2cf2c8650f255449f8dc75608cb7debc2ef54682e1baf','a','a100',946682880000000000,'1/1','');
insert into "ledger" values (9,946683240000000000,'1999-12-31','hold','c1','r-005f','org/team/proj/ann',96000000,'USD','','','886efd5594a7c9f0e0f2cf2c8650f255449f8dc75608cb7debc2ef54682e1baf','8d0f9f9e041b6fbb6ff3ca2fd74ae189ebb97f9576ce5fa92076b84e7f74e598','a','a100',0,'','');
insert into "lines" values (1,0,'org/team','overage',-43000000,'USD');
insert into "lines" values (1,1,'org/team','room',43000000,'USD');
insert into "lines" values (10,0,'org/team/proj/ann','room',-96000000,'USD');
insert into "lines" values (10,1,'org/team/proj/ann','held',96000000,'USD');
insert into "lines" values (11,0,'org/team/proj/ann','held',-1500000,'USD');
insert into "lines" values (11,1,'org/team/proj/ann','posted',1500000,'USD');
insert into "lines" values (12,0,'org/team/proj/ann','room',-8000000,'USD');
insert into "lines" values (12,1,'org/team/proj/ann','held',8000000,'USD');
insert into "lines" values (13,0,'org/team/proj/ann','room',-48000000,'USD');
insert into "lines" values (13,1,'org/team/proj/ann','held',48000000,'USD');
insert into "lines" values (14,0,'org/team/proj/ann','room',-48000000,'USD');
insert into "lines" values (14,1,'org/team/proj/ann','held',48000000,'USD');
insert into "lines" values (15,0,'org/team/proj/ann','room',-48000000,'USD');
insert into "lines" values (15,1,'org/team/proj/ann','held',48000000,'USD');
insert into "lines" values (2,0,'org/team/proj/ann','room',-48000000,'USD');
insert into "lines" values (2,1,'org/team/proj/ann','held',48000000,'USD');
insert into "lines" values (3,0,'org/team/proj/ann','room',-4000000,'USD');
insert into "lines" values (3,1,'org/team/proj/ann','held',4000000,'USD');
insert into "lines" values (4,0,'org/team/proj/ann','held',-4000000,'USD');
insert into "lines" values (4,1,'org/team/proj/ann','posted',4000000,'USD');
insert into "lines" values (5,0,'org/team/proj/ann','room',-1000000,'USD');
insert into "lines" values (5,1,'org/team/proj/ann','posted',1000000,'USD');
insert into "lines" values (6,0,'org/team/proj/ann','room',-1000000,'USD');
insert into "lines" values (6,1,'org/team/proj/ann','posted',1000000,'USD');
insert into "lines" values (8,0,'org/team/proj/ann','room',-1000000,'USD');
insert into "lines" values (8,1,'org/team/proj/ann','posted',1000000,'USD');
insert into "lines" values (9,0,'org/team/proj/ann','room',-96000000,'USD');
insert into "lines" values (9,1,'org/team/proj/ann','held',96000000,'USD');
insert into "marks" values (1,'{"pools":[{"pool":{"cloud":"b","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"down_until":"2000-01-01T00:00:00Z","failures":2,"code":"Full"}],"answers":[{"jobs":["denied"],"why":"denied","until":"2000-01-01T00:59:00Z"}],"reclaims":{"c1":{"works":1}},"frozen":false,"protected":"","protected_at":"0001-01-01T00:00:00Z","failures":["1999-12-31T23:59:00Z"],"suspects":{"a/a-999":{"first":"1999-12-31T23:59:00Z","last":"1999-12-31T23:59:00Z","lists":1}},"requeued":null,"high_water":"1999-12-31T23:59:00Z"}');
insert into "meta" values (1,'released',2,9,15,'9ad07fb9d367cd1df260db314fb16e29f37dc60b37c84bed8e29eaeeb0d12c60');
insert into "news" values (1,946681380000000000,'asked','r-0013','asks','{"id":0,"at":"1999-12-31T23:03:00Z","kind":"asked","cluster":"c1","rental":"r-0013","job":"asks","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (10,946682340000000000,'warning','r-004c','','{"id":0,"at":"1999-12-31T23:19:00Z","kind":"warning","cluster":"c1","rental":"r-004c","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":1000000,"currency":"USD"},"text":"cost 5.00 USD is beyond the hold of 4.00 USD by 1.00 USD"}');
insert into "news" values (11,946682340000000000,'warning','r-004c','over','{"id":0,"at":"1999-12-31T23:19:00Z","kind":"warning","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":5000000,"currency":"USD"}}');
insert into "news" values (12,946682340000000000,'releasing','r-004c','over','{"id":0,"at":"1999-12-31T23:19:00Z","kind":"releasing","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":5000000,"currency":"USD"}}');
insert into "news" values (13,946682940000000000,'settled','r-004c','over','{"id":0,"at":"1999-12-31T23:29:00Z","kind":"settled","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":6000000,"currency":"USD"}}');
insert into "news" values (14,946682940000000000,'cost-corrected','r-004c','','{"id":0,"at":"1999-12-31T23:29:00Z","kind":"cost-corrected","rental":"r-004c","cost":{"micro":0,"currency":""}}');
insert into "news" values (15,946683240000000000,'reserved','r-005f','joins','{"id":0,"at":"1999-12-31T23:34:00Z","kind":"reserved","cluster":"c1","rental":"r-005f","job":"joins","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (16,946683240000000000,'created','r-005f','joins','{"id":0,"at":"1999-12-31T23:34:00Z","kind":"created","cluster":"c1","rental":"r-005f","job":"joins","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (17,946683570000000000,'reserved','r-006j','works','{"id":0,"at":"1999-12-31T23:39:30Z","kind":"reserved","cluster":"c1","rental":"r-006j","job":"works","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (18,946683570000000000,'created','r-006j','works','{"id":0,"at":"1999-12-31T23:39:30Z","kind":"created","cluster":"c1","rental":"r-006j","job":"works","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (19,946683600000000000,'admitted','r-006j','works','{"id":0,"at":"1999-12-31T23:40:00Z","kind":"admitted","cluster":"c1","rental":"r-006j","job":"works","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (2,946681680000000000,'asked','r-0026','denied','{"id":0,"at":"1999-12-31T23:08:00Z","kind":"asked","cluster":"c1","rental":"r-0026","job":"denied","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (20,946683630000000000,'started','r-006j','works','{"id":0,"at":"1999-12-31T23:40:30Z","kind":"started","cluster":"c1","rental":"r-006j","job":"works","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":1500000,"currency":"USD"}}');
insert into "news" values (21,946683630000000000,'extended','r-006j','works','{"id":0,"at":"1999-12-31T23:40:30Z","kind":"extended","cluster":"c1","rental":"r-006j","job":"works","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":1500000,"currency":"USD"}}');
insert into "news" values (22,946683930000000000,'reserved','r-007n','leaves','{"id":0,"at":"1999-12-31T23:45:30Z","kind":"reserved","cluster":"c1","rental":"r-007n","job":"leaves","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (23,946683930000000000,'created','r-007n','leaves','{"id":0,"at":"1999-12-31T23:45:30Z","kind":"created","cluster":"c1","rental":"r-007n","job":"leaves","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (24,946683960000000000,'admitted','r-007n','leaves','{"id":0,"at":"1999-12-31T23:46:00Z","kind":"admitted","cluster":"c1","rental":"r-007n","job":"leaves","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (25,946683990000000000,'draining','r-007n','leaves','{"id":0,"at":"1999-12-31T23:46:30Z","kind":"draining","cluster":"c1","rental":"r-007n","job":"leaves","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (26,946684320000000000,'reserved','r-008r','ends','{"id":0,"at":"1999-12-31T23:52:00Z","kind":"reserved","cluster":"c1","rental":"r-008r","job":"ends","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (27,946684320000000000,'created','r-008r','ends','{"id":0,"at":"1999-12-31T23:52:00Z","kind":"created","cluster":"c1","rental":"r-008r","job":"ends","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (28,946684350000000000,'admitted','r-008r','ends','{"id":0,"at":"1999-12-31T23:52:30Z","kind":"admitted","cluster":"c1","rental":"r-008r","job":"ends","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (29,946684380000000000,'draining','r-008r','ends','{"id":0,"at":"1999-12-31T23:53:00Z","kind":"draining","cluster":"c1","rental":"r-008r","job":"ends","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (3,946681680000000000,'denied','r-0026','denied','{"id":0,"at":"1999-12-31T23:08:00Z","kind":"denied","cluster":"c1","rental":"r-0026","job":"denied","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (30,946684410000000000,'releasing','r-008r','ends','{"id":0,"at":"1999-12-31T23:53:30Z","kind":"releasing","cluster":"c1","rental":"r-008r","job":"ends","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (31,946684740000000000,'reserved','r-009v','sent','{"id":0,"at":"1999-12-31T23:59:00Z","kind":"reserved","cluster":"c1","rental":"r-009v","job":"sent","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (32,946684740000000000,'thawed','','','{"id":0,"at":"1999-12-31T23:59:00Z","kind":"thawed","cost":{"micro":0,"currency":""},"text":"the breaker has cooled down"}');
insert into "news" values (4,946681980000000000,'asked','r-0039','approved','{"id":0,"at":"1999-12-31T23:13:00Z","kind":"asked","cluster":"c1","rental":"r-0039","job":"approved","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (5,946681980000000000,'approved','r-0039','approved','{"id":0,"at":"1999-12-31T23:13:00Z","kind":"approved","cluster":"c1","rental":"r-0039","job":"approved","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (6,946681980000000000,'budget-alert','','','{"id":0,"at":"1999-12-31T23:13:00Z","kind":"budget-alert","cost":{"micro":0,"currency":""},"text":"half"}');
insert into "news" values (7,946682280000000000,'reserved','r-004c','over','{"id":0,"at":"1999-12-31T23:18:00Z","kind":"reserved","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (8,946682280000000000,'created','r-004c','over','{"id":0,"at":"1999-12-31T23:18:00Z","kind":"created","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news" values (9,946682310000000000,'admitted','r-004c','over','{"id":0,"at":"1999-12-31T23:18:30Z","kind":"admitted","cluster":"c1","rental":"r-004c","job":"over","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"cost":{"micro":0,"currency":"USD"}}');
insert into "news_cursor" values (1,2);
insert into "news_once" values ('budget/org/50',946681980000000000);
insert into "parcels" values (1,1,0,'slack','rental/1','C1','',0,0,946681980000000000,'{}');
insert into "posted" values ('org','USD',1051869,'a','a100',7000000);
insert into "posted" values ('org','USD',1051870,'a','a100',1500000);
insert into "posted" values ('org/team','USD',1051869,'a','a100',7000000);
insert into "posted" values ('org/team','USD',1051870,'a','a100',1500000);
insert into "posted" values ('org/team/proj','USD',1051869,'a','a100',7000000);
insert into "posted" values ('org/team/proj','USD',1051870,'a','a100',1500000);
insert into "posted" values ('org/team/proj/ann','USD',1051869,'a','a100',7000000);
insert into "posted" values ('org/team/proj/ann','USD',1051870,'a','a100',1500000);
insert into "rentals" values (1,'r-0013',1,'waiting',0,'c1','org/team/proj/ann','',946681380000000000,'{"id":"r-0013","version":1,"state":"waiting","since":"1999-12-31T23:03:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["asks"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:03:00Z","expires":"0001-01-01T00:00:00Z","ask_until":"2000-01-01T23:03:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":null,"user_data":"","expires":"0001-01-01T00:00:00Z"},"machines":[{"ordinal":0,"state":"intended","node":"sw-0013-0","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"0001-01-01T00:00:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"above-ask-limit","revision":1,"digest":"c95ca3c64e6fd9f697cdf66f070ac928fce9760adfa939b4067b1e979310d265"}',0,0);
insert into "rentals" values (2,'r-0026',2,'closed',1,'c1','org/team/proj/ann','',946681680000000000,'{"id":"r-0026","version":2,"state":"closed","since":"1999-12-31T23:08:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["denied"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:08:00Z","expires":"0001-01-01T00:00:00Z","ask_until":"2000-01-01T23:08:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":null,"user_data":"","expires":"0001-01-01T00:00:00Z"},"machines":[{"ordinal":0,"state":"intended","node":"sw-0026-0","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"0001-01-01T00:00:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"above-ask-limit","revision":1,"digest":"ebb0a41fb3f0bebb0e7c1ed77fc9a716f7758ecc7f77471756c2d5b3ee63d591"}',0,0);
insert into "rentals" values (3,'r-0039',2,'launching',0,'c1','org/team/proj/ann','',946681980000000000,'{"id":"r-0039","version":2,"state":"launching","since":"1999-12-31T23:13:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["approved"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:13:00Z","expires":"0001-01-01T00:00:00Z","ask_until":"2000-01-01T23:13:00Z","launch":{"rental":"","attempt":0,"token":"","pool":{"cloud":"","region":"","zone":"","type":"","market":""},"count":0,"max_rate":{"micro_per_hour":0,"currency":""},"tags":null,"user_data":"","expires":"0001-01-01T00:00:00Z"},"machines":[{"ordinal":0,"state":"intended","node":"sw-0039-0","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"0001-01-01T00:00:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"above-ask-limit","approved_by":"bea","revision":1,"digest":"1a581330a09681e35dc742e94d7796b5f57dcd0269eba7c8df40f511e2d93884","yeses":[{"who":"bea","at":"1999-12-31T23:13:00Z"}]}',946681980000000000,0);
insert into "rentals" values (4,'r-004c',8,'settled',1,'c1','org/team/proj/ann','',946682940000000000,'{"id":"r-004c","version":8,"state":"settled","since":"1999-12-31T23:18:30Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["over"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":4000000,"currency":"USD"},"cost":{"micro":7000000,"currency":"USD"},"created":"1999-12-31T23:18:00Z","expires":"2000-01-01T05:18:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-004c","attempt":1,"token":"dvveysvk5wbynia7ywuxop6spl42vkhuv5epcemj","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":1,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:18:00Z 2000-01-01T05:18:00Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:18:00Z","spillway-jobs":"gpu over","spillway-max-rate":"8000000 USD","spillway-rental":"r-004c","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"1 1 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:18:00Z"},"handle":"op-dvveysvk","machines":[{"ordinal":0,"state":"gone","id":"a-901","node":"sw-004c-0","address":"10.0.0.1","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:18:00Z","joined":"1999-12-31T23:18:30Z","stopped":"1999-12-31T23:29:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit"}',946682280000000000,946682940000000000);
insert into "rentals" values (5,'r-005f',3,'joining',0,'c1','org/team/proj/ann','',946683240000000000,'{"id":"r-005f","version":3,"state":"joining","since":"1999-12-31T23:34:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["joins"],"gang":2,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":2,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":96000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:34:00Z","expires":"2000-01-01T05:34:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-005f","attempt":1,"token":"vzgeeknsrtaqztn35346fm3vgbwz43xz6covqsrb","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":2,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:34:00Z 2000-01-01T05:34:00Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:34:00Z","spillway-jobs":"gpu joins","spillway-max-rate":"8000000 USD","spillway-rental":"r-005f","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"2 2 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:34:00Z"},"handle":"op-vzgeekns","machines":[{"ordinal":0,"state":"created","id":"a-902","node":"sw-005f-0","address":"10.0.0.1","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:34:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"},{"ordinal":1,"state":"created","id":"a-903","node":"sw-005f-1","address":"10.0.0.2","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:34:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit"}',946683240000000000,0);
insert into "rentals" values (6,'r-006j',6,'admitted',0,'c1','org/team/proj/ann','',946683630000000000,'{"id":"r-006j","version":6,"state":"admitted","since":"1999-12-31T23:40:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["works"],"gang":2,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":2,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":104000000,"currency":"USD"},"cost":{"micro":1500000,"currency":"USD"},"created":"1999-12-31T23:39:30Z","expires":"2000-01-01T06:39:30Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-006j","attempt":1,"token":"nfoaaa7gw2r3jmk4mi3zdsad4iulyalmmbcbjhwv","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":2,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:39:30Z 2000-01-01T05:39:30Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:39:30Z","spillway-jobs":"gpu works","spillway-max-rate":"8000000 USD","spillway-rental":"r-006j","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"2 2 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:39:30Z"},"handle":"op-nfoaaa7g","machines":[{"ordinal":0,"state":"joined","id":"a-904","node":"sw-006j-0","address":"10.0.0.1","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:39:30Z","joined":"1999-12-31T23:40:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"},{"ordinal":1,"state":"joined","id":"a-905","node":"sw-006j-1","address":"10.0.0.2","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:39:30Z","joined":"1999-12-31T23:40:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit","running":["works"]}',946683570000000000,0);
insert into "rentals" values (7,'r-007n',5,'draining',0,'c1','org/team/proj/ann','',946683990000000000,'{"id":"r-007n","version":5,"state":"draining","since":"1999-12-31T23:46:30Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["leaves"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:45:30Z","expires":"2000-01-01T05:45:30Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-007n","attempt":1,"token":"z4qwklicbp7tchs4tqvwoo4pnol34y3zre53chvk","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":1,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:45:30Z 2000-01-01T05:45:30Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:45:30Z","spillway-jobs":"gpu leaves","spillway-max-rate":"8000000 USD","spillway-rental":"r-007n","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"1 1 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:45:30Z"},"handle":"op-z4qwklic","machines":[{"ordinal":0,"state":"joined","id":"a-906","node":"sw-007n-0","address":"10.0.0.1","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:45:30Z","joined":"1999-12-31T23:46:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit","running":["leaves"]}',946683930000000000,0);
insert into "rentals" values (8,'r-008r',6,'releasing',0,'c1','org/team/proj/ann','',946684410000000000,'{"id":"r-008r","version":6,"state":"releasing","since":"1999-12-31T23:53:30Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["ends"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:52:00Z","expires":"2000-01-01T05:52:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-008r","attempt":1,"token":"pwifgpxo7f6s2hho7phbooyd3fcpbqrxbvt52jqk","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":1,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:52:00Z 2000-01-01T05:52:00Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:52:00Z","spillway-jobs":"gpu ends","spillway-max-rate":"8000000 USD","spillway-rental":"r-008r","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"1 1 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:52:00Z"},"handle":"op-pwifgpxo","machines":[{"ordinal":0,"state":"releasing","id":"a-907","node":"sw-008r-0","address":"10.0.0.1","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"1999-12-31T23:52:00Z","joined":"1999-12-31T23:52:30Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit"}',946684320000000000,0);
insert into "rentals" values (9,'r-009v',1,'launching',0,'c1','org/team/proj/ann','',946684740000000000,'{"id":"r-009v","version":1,"state":"launching","since":"1999-12-31T23:59:00Z","cluster":"c1","account":"org/team/proj/ann","requester":"ann","class":"P1","jobs":["sent"],"gang":1,"origin":"gpu","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"shape":{"cpus":8,"memory_mib":64000,"gpu_type":"a100","gpus":8},"rate":{"micro_per_hour":8000000,"currency":"USD"},"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"step":1000000000,"minimum":60000000000,"count":1,"attempt":1,"life":21600000000000,"idle":1200000000000,"hold":{"micro":48000000,"currency":"USD"},"cost":{"micro":0,"currency":"USD"},"created":"1999-12-31T23:59:00Z","expires":"2000-01-01T05:59:00Z","ask_until":"0001-01-01T00:00:00Z","launch":{"rental":"r-009v","attempt":1,"token":"xze3p6ov7caott2bvopya2fk6lmzpiw2xfucbnaq","pool":{"cloud":"a","region":"r1","zone":"z1","type":"g8","market":"on-demand"},"count":1,"max_rate":{"micro_per_hour":8000000,"currency":"USD"},"tags":{"spillway-account":"org/team/proj/ann","spillway-attempt":"1","spillway-class":"P1","spillway-cluster":"c1","spillway-dates":"1999-12-31T23:59:00Z 2000-01-01T05:59:00Z -","spillway-epoch":"2","spillway-expires":"2000-01-01T05:59:00Z","spillway-jobs":"gpu sent","spillway-max-rate":"8000000 USD","spillway-rental":"r-009v","spillway-requester":"ann","spillway-shape":"8 64000 8 0 a100","spillway-store":"released","spillway-terms":"1 1 8000000 6h0m0s 20m0s 1s 1m0s 0s 0"},"user_data":"#!/bin/sh\n","expires":"2000-01-01T05:59:00Z"},"machines":[{"ordinal":0,"state":"intended","node":"sw-009v-0","rate":{"micro_per_hour":8000000,"currency":"USD"},"started":"0001-01-01T00:00:00Z","joined":"0001-01-01T00:00:00Z","stopped":"0001-01-01T00:00:00Z","notice_at":"0001-01-01T00:00:00Z","reclaim_at":"0001-01-01T00:00:00Z","drained":"0001-01-01T00:00:00Z","absent_at":"0001-01-01T00:00:00Z","idle_since":"0001-01-01T00:00:00Z"}],"idle_since":"0001-01-01T00:00:00Z","why":"cheapest-fit"}',946684740000000000,0);
insert into "usage" values (946681200000000000,'c1','a100',3600,28800,20000,3000,2000,0,0,0);
insert into "sqlite_sequence" values ('goose_db_version',4);
insert into "sqlite_sequence" values ('news',32);
insert into "sqlite_sequence" values ('parcels',1);
insert into "sqlite_sequence" values ('rentals',9);
CREATE TRIGGER bills_keep before update on bills begin select raise(abort, 'bills are append-only'); end;
CREATE TRIGGER bills_stay before delete on bills begin select raise(abort, 'bills are append-only'); end;
CREATE INDEX bills_until on bills (until, "from");
CREATE INDEX knocks_open on knocks (at) where done = 0;
CREATE TRIGGER ledger_keeps before update on ledger begin select raise(abort, 'the ledger is append-only'); end;
CREATE UNIQUE INDEX ledger_key on ledger (key) where key <> '';
CREATE INDEX ledger_rental on ledger (rental, seq);
CREATE TRIGGER ledger_stays before delete on ledger begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER lines_keep before update on lines begin select raise(abort, 'the ledger is append-only'); end;
CREATE TRIGGER lines_stay before delete on lines begin select raise(abort, 'the ledger is append-only'); end;
CREATE INDEX news_at on news (at, kind);
CREATE INDEX news_job on news (job, id) where job <> '';
CREATE TRIGGER news_keep before update on news begin select raise(abort, 'news are append-only'); end;
CREATE INDEX news_rental on news (rental, id) where rental <> '';
CREATE TRIGGER news_stay before delete on news begin select raise(abort, 'news are append-only'); end;
CREATE UNIQUE INDEX parcels_key on parcels (key) where key <> '';
CREATE INDEX posted_quarter on posted (quarter);
CREATE INDEX rentals_ended on rentals (held_until, held_from) where held_until > 0;
CREATE UNIQUE INDEX rentals_key on rentals (key) where key <> '';
CREATE INDEX rentals_live on rentals (num, id, version) where ended = 0;
CREATE INDEX rentals_open  on rentals (num) where held_from > 0 and held_until = 0;
commit;
