// Package slackd is a Slack on this host: the Web API, Socket Mode, signed
// HTTP and a control interface, honest to what Slack documents. A bot that
// works against it works against Slack; people who have no workspace try the
// product in it. It shares no code with the bot, because it is the bot's judge.
//
// # What a bot sees
//
//	/api/METHOD        Web API: form or JSON body, bearer token or token=
//	/link/?ticket=     Socket Mode; the address comes from apps.connections.open
//	/hooks/...         response_url
//	/upload/v1/...     upload_url of files.getUploadURLExternal
//	/archives/C/pTS    permalinks; they lead to the page, as /?channel=C&ts=TS
//
// The tokens are in files of mode 0600 below STATE/tokens: bot, app,
// signing-secret, control. The journal beside them keeps what a restart needs:
// messages, home tabs, uploads and what administrators changed; forms, triggers
// and ephemeral messages end with the process. One process uses a folder.
//
// What differs from Slack, on purpose: limits have no slack beyond a burst of a
// minute's calls (five connections at once for apps.connections.open), posts of
// one a second have none at all, a view may be pushed with any fresh trigger, and
// a Socket Mode message in several frames is put together.
//
// # What people and tests see
//
// Everything below /control/ wants "Authorization: Bearer CONTROL-TOKEN", or
// ?token= where a header cannot be set (EventSource, images). Bodies and
// answers are JSON; a mistake is {"error":"...","hint":"..."} with status 4xx.
// Ids are Slack's: U users, C channels, D direct messages, V views, S groups.
//
//	GET  workspace                     {team, app, users, groups, channels, connections, mode, clock}
//	GET  channels?user=U               {channels:[Channel]} that this person can open, direct ones too
//	GET  messages?channel=C&user=U     {messages:[Message]} as U sees them, own ephemerals among them, oldest
//	                                   first, replies too (thread_ts != ts). Without user: everything.
//	                                   With limit=N only the last N
//	GET  views?user=U                  {views:[View]} the open forms, bottom first
//	GET  home?user=U                   {view: View or null}
//	GET  notices?user=U                {notices:[Notice]} what Slack itself told this person
//	GET  files/F                       the bytes of an upload
//	GET  calls?method=M                {calls:[Call]} the last 2,000 Web API calls
//	GET  deliveries                    {deliveries:[Delivery]} the last 2,000 envelopes or requests to the bot
//	GET  feed?user=U                   server-sent events, see below
//
// What a person does. Each answers Outcome when the bot has acknowledged, or
// three seconds have passed, or at once with "wait":false.
//
//	POST command   {user, channel, text:"/rent 8xh100 for 6h"}
//	POST press     {user, channel, ts, action_id, block_id?, value?}     a button, menu or picker of a message
//	POST press     {user, view_id, action_id, block_id?, value?}         ... of a form or of Home
//	POST submit    {user, view_id, values:{BLOCK:{ACTION:VALUE}}}        values join what was picked before
//	POST close     {user, view_id}
//	POST suggest   {user, view_id | channel+ts, action_id, block_id?, value:"typed"}   Outcome.options
//	POST open-home {user, tab?:"home"|"messages"}                        app_home_opened
//	POST say       {user, channel, text, thread_ts?}                     an ordinary message; answers {message}
//	POST open-dm   {user, with?}                                         {channel} with the bot, or with another
//
// VALUE is a string (text, an option's value, an id, a date), a list of
// strings (several options) or an option {text, value}. Buttons need none.
//
//	Outcome  {outcome, error?, delivery, ack_ms, trigger_id?, response?, errors?:{BLOCK:TEXT}, options?:[...], option_groups?:[...], missing?:[BLOCK]}
//	outcome  "acked" | "timeout" (the person sees operation_timeout) | "unreachable" (dispatch_failed)
//	         | "refused" (Slack's own client did not let it through; error says why) | "sent" (wait:false)
//
// What an administrator does.
//
//	POST users/U      any of {name, real_name, email, locale, tz, deleted, is_restricted, ...}   sends user_change
//	POST groups/S     {users:[U]} or {enabled:bool}             sends subteam_members_changed or subteam_updated
//	POST channels/C   any of {name, is_archived, is_ext_shared, members:[U]}     sends channel_archive ...
//	POST event        {event:{type:...}, event_id?}             any event, delivered as Slack would
//	POST tokens       {revoke:"bot"|"app"|"all"} or {restore:true}
//	POST scopes       {bot:[...]} or {app:[...]}
//	POST without      {blocks:["data_visualization"]}           types of blocks that this workspace does not draw:
//	                                                            invalid_blocks, as where Slack has not brought them yet
//
// What goes wrong.
//
//	GET/POST/DELETE faults   POST {on, kind, ms?, retry_after?, status?, error?, every?, times?} -> {id, ...}
//	                         on    a method ("chat.postMessage"), "api" (every method), "hooks" (response_url),
//	                               "slash_commands", "interactive", "events_api", "options", or "delivery" (all four)
//	                         kind  of methods: delay, rate (429), fail (status before anything happened),
//	                               fail-after (status after it happened), hang-up-after (connection cut after
//	                               it happened), refuse (ok:false, error)
//	                               of deliveries: delay, lose, duplicate, reorder (held until the next one has
//	                               gone), drop-ack (the answer gets lost), skew (signature made ms off)
//	                         every n: each n-th; times n: n times, then gone; both 0: always
//	POST sockets             {do:"freeze"|"thaw"|"cut"|"disconnect", reason?, connection?}   half-open, abrupt end,
//	                         or Slack's own message (warning, refresh_requested, too_many_websockets, link_disabled)
//	GET/POST clock           {advance_ms?, speed?} -> {now, speed}. A jump moves stamps, triggers, response_url and
//	                         limits; speed is for waits of Slack's own: rate limits and event retries
//	POST redeliver           {delivery}    the same payload again, as a fault of Slack or of an attacker
//	GET/POST delivery        {mode:"socket"|"http", url?} -> {mode, url, verified}
//
// # The feed
//
// Each event is "event: KIND" and "data: JSON". With user=U only what this
// person may see. The feed starts with "ready"; after a "lost" event (slow
// reader) read everything again.
//
//	message   Message (new or changed; ephemeral ones have ephemeral_to)
//	deleted   {channel, ts, user?}
//	view      {user, views:[View]}      the whole stack, after any change
//	home      {user, view}
//	notice    Notice {user, channel?, ts, text, error}
//	channel   Channel      user    User      group   Group
//	sockets   {connections}
//	call      Call         delivery  Delivery
//	clock     {now, speed}
//
// Message, View and User are Slack's own objects. A Message has besides them:
// channel, and for ephemerals is_ephemeral and ephemeral_to. A View has
// state.values as the person has filled it so far.
package slackd
