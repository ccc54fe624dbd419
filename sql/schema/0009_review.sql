-- Review: what upstream servers change waits where the policy says so.

-- It returns more columns now. (In an empty database it is not there yet, which needs no notice.)
set local client_min_messages = warning;
drop function if exists tool_rag.upsert_tools(jsonb);

create table tool_rag.review_setting (
    singleton boolean not null default true,
    review_policy text not null default 'trust',
    lint_policy text not null default 'quarantine',
    known_requests int not null default 100,
    won_requests int not null default 5,
    constraint review_setting_pkey primary key (singleton),
    constraint review_setting_singleton_check check (singleton),
    constraint review_setting_review_policy_check
    check (review_policy in ('trust', 'review', 'withhold', 'refuse')),
    constraint review_setting_lint_policy_check check (lint_policy in ('report', 'quarantine')),
    constraint review_setting_known_requests_check check (known_requests between 0 and 10000),
    constraint review_setting_won_requests_check check (won_requests > 0)
);
comment on table tool_rag.review_setting is
'One row: the policies of servers that have none of their own, and how new versions are tried.';
comment on column tool_rag.review_setting.known_requests is
'So many known requests at most, the newest, are tried with a version that is new.';
comment on column tool_rag.review_setting.won_requests is
'A version that would come first for so many requests of other tools is flagged.';
insert into tool_rag.review_setting (singleton) values (true);

alter table tool_rag.server
add column review_policy text,
add column lint_policy text,
add constraint server_review_policy_check
check (review_policy in ('trust', 'review', 'withhold', 'refuse')),
add constraint server_lint_policy_check check (lint_policy in ('report', 'quarantine'));
comment on column tool_rag.server.review_policy is
'What becomes of a tool that an export brings anew or changed: trust (it serves), review (it '
'waits, the old version serves), withhold (it waits, nothing serves) or refuse (the old version '
'stays). Null: that of review_setting.';
comment on column tool_rag.server.lint_policy is
'What becomes of a version of a trusted server that the linter flags as high: quarantine (it '
'waits) or report (it serves). Null: that of review_setting.';

alter table tool_rag.tool add column withheld boolean not null default false;
comment on column tool_rag.tool.withheld is
'Whether the server offers another version that was not approved, under the policy withhold; the '
'tool is hidden meanwhile.';

create table tool_rag.pending_tool (
    pending_id int generated always as identity,
    server_id int not null,
    name text not null,
    hash bytea not null,
    definition jsonb not null,
    state text not null,
    reason text not null,
    findings jsonb not null default '[]',
    submitted_at timestamptz not null default now(),
    submitted_by text not null default session_user,
    decided_at timestamptz,
    decided_by text,
    note text,
    constraint pending_tool_pkey primary key (pending_id),
    constraint pending_tool_key unique (server_id, name, hash),
    constraint pending_tool_server_id_fkey foreign key (server_id)
    references tool_rag.server (server_id) on delete cascade,
    constraint pending_tool_definition_check check (jsonb_typeof(definition) = 'object'),
    constraint pending_tool_findings_check check (jsonb_typeof(findings) = 'array'),
    constraint pending_tool_state_check check (state in ('waiting', 'refused', 'rejected')),
    constraint pending_tool_reason_check
    check (reason in ('review', 'withhold', 'refuse', 'flagged')),
    constraint pending_tool_note_check check (length(note) between 1 and 1000)
);
-- Of a tool only what its server offers now can wait; rejected versions are all remembered.
create unique index pending_tool_offered_idx on tool_rag.pending_tool (server_id, name)
where state <> 'rejected';
comment on table tool_rag.pending_tool is
'Versions of tools that their servers offer and that do not serve: no search reads this table.';
comment on column tool_rag.pending_tool.hash is
'SHA-256 over the definition, by which a version is approved or rejected.';
comment on column tool_rag.pending_tool.definition is
'The tool as exported; what an export says nothing of is left out.';
comment on column tool_rag.pending_tool.state is
'waiting for a person, refused by the policy, or rejected by a person, which is remembered.';
comment on column tool_rag.pending_tool.reason is
'The policy that holds it, or flagged: the linter''s findings do, of a server that is trusted.';
comment on column tool_rag.pending_tool.findings is
'What the linter says of it: [{"rule", "severity", "field", "place", "excerpt"}].';

-- As tool_rag._skeleton has it, which a schema step can't use yet. A test compares both.
alter table tool_rag.tool_name
add column skeleton text collate "C" not null generated always as (
    replace(
        replace(
            translate(
                translate(
                    normalize(folded, nfkc),
                    'авгеснкмортухіјѕԁһӏԛԝпѡьѵґєѐиэαβγεηικμνορστυχωϲϳϱϰոօսհցյղզաıɩɪȷɡɢɑʟʀƒɴɓɗɦŧłøđħᴀʙᴄᴅᴇʜ'
                        'ᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢɛʋʃꞁǀABCDEFGHIJKLMNOPQRSTUVWXYZ',
                    'abrechkmoptyxijsdhlqwnwbvreeueabyenikuvopotuxwcjpknouhgjnqwiiijggalrfnbdhtlodhabcdeh'
                        'jkmopstuvwyzeufllabcdefghijklmnopqrstuvwxyz'
                ),
                '01i', 'oll'
            ),
            'rn', 'm'
        ),
        'vv', 'w'
    )
) stored;
create index tool_name_skeleton_idx on tool_rag.tool_name (skeleton);
comment on column tool_rag.tool_name.skeleton is
'The folded name with what looks alike made the same: get_0rder and get_order have one skeleton.';

alter table tool_rag.review_setting enable row level security;
alter table tool_rag.pending_tool enable row level security;
