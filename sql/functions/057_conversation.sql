-- What comes on top of the ranking: what tools need, and what a conversation uses.

create or replace function tool_rag._needs(p_tool_ids int[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    with recursive needed (tool_id) as (
        select unnest(p_tool_ids)
        union
        select d.needs_id from needed n join tool_rag.dependency d on d.tool_id = n.tool_id
    )
    select coalesce(array_agg(tool_id order by tool_id), '{}') from needed
$$;
comment on function tool_rag._needs(int[]) is 'Tools and all that they need, directly or not.';

create or replace function tool_rag.add_dependency(
    server text, tool text, needs_server text, needs_tool text, reason text
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tool_id int;
    v_needs_id int;
    v_count int;
begin
    perform tool_rag._check_unbound();
    v_tool_id := tool_rag._find_tool(add_dependency.server, add_dependency.tool);
    v_needs_id := tool_rag._find_tool(add_dependency.needs_server, add_dependency.needs_tool);
    if coalesce(add_dependency.reason, '') !~ '[^[:space:]]' or length(add_dependency.reason) > 1000
    then
        raise exception 'the reason has % characters instead of 1 to 1000',
            coalesce(length(add_dependency.reason), 0)
            using errcode = 'invalid_parameter_value',
            hint = 'Say what the tool needs the other one for; results repeat it.';
    elsif v_tool_id = v_needs_id then
        raise exception 'tool "%/%" can''t need itself', add_dependency.server, add_dependency.tool
            using errcode = 'invalid_parameter_value',
            hint = 'Name the tool that has to be called before.';
    end if;
    insert into tool_rag.dependency as d (tool_id, needs_id, reason)
    values (v_tool_id, v_needs_id, add_dependency.reason)
    on conflict on constraint dependency_pkey do update set reason = excluded.reason
    where d.reason <> excluded.reason;
    get diagnostics v_count = row_count;
    return v_count = 1;
end
$$;
comment on function tool_rag.add_dependency(text, text, text, text, text) is
'One tool needs another, and why; true where that is new or has a new reason.';

create or replace function tool_rag.remove_dependency(
    server text, tool text, needs_server text, needs_tool text
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    delete from tool_rag.dependency d
    where d.tool_id = tool_rag._find_tool(remove_dependency.server, remove_dependency.tool)
        and d.needs_id
        = tool_rag._find_tool(remove_dependency.needs_server, remove_dependency.needs_tool);
    get diagnostics v_count = row_count;
    return v_count > 0;
end
$$;
comment on function tool_rag.remove_dependency(text, text, text, text) is
'One tool no longer needs another; false where it did not.';

create or replace function tool_rag._expand_needs(
    p_tool_ids int[], p_role_ids int[], p_server_ids int[], p_gate int[], p_depth int
) returns table (tool_id int, needed_by int, reason text, depth int)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- Only over tools that the caller may see: what lies behind another one is not told.
    with recursive needed (tool_id, needed_by, reason, depth) as (
        select d.needs_id, d.tool_id, d.reason, 1
        from tool_rag.dependency d
        where d.tool_id = any(p_tool_ids) and p_depth > 0
            and tool_rag._is_visible(d.needs_id, p_role_ids, p_server_ids, p_gate)
        union
        select d.needs_id, d.tool_id, d.reason, n.depth + 1
        from needed n
        join tool_rag.dependency d on d.tool_id = n.tool_id
        where n.depth < p_depth
            and tool_rag._is_visible(d.needs_id, p_role_ids, p_server_ids, p_gate)
    )
    select distinct on (n.tool_id) n.tool_id, n.needed_by, n.reason, n.depth
    from needed n
    where n.tool_id <> all(p_tool_ids)
    order by n.tool_id, n.depth, array_position(p_tool_ids, n.needed_by), n.needed_by
$$;
comment on function tool_rag._expand_needs(int[], int[], int[], int[], int) is
'What tools need beyond themselves, down to a depth, as far as the caller may see it.';

create or replace function tool_rag._is_visible(
    p_tool_id int, p_role_ids int[], p_server_ids int[], p_gate int[]
) returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- A gate is in order: it is searched by halves.
    select coalesce(
        max(r.allow_until) > statement_timestamp() and max(r.deny_until) <= statement_timestamp(),
        p_gate[width_bucket(p_tool_id, p_gate)] = p_tool_id,
        false
    )
    from tool_rag.role_tool r
    where r.tool_id = p_tool_id and r.role_id = any(p_role_ids)
        and (p_server_ids is null or r.server_id = any(p_server_ids))
$$;
comment on function tool_rag._is_visible(int, int[], int[], int[]) is
'Whether a caller (see _caller) may see one tool now.';

create or replace function tool_rag._find_visible(
    p_servers text[], p_tools text[], p_role_ids int[], p_gate int[]
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        with visible as materialized (
            select t.tool_id, s.name as server, t.name
            from unnest(tool_rag._visible_names(
                array(select tool_rag._fold_name(n.name) from unnest(p_tools) n (name)),
                p_role_ids, null, p_gate
            )) v (tool_id)
            join tool_rag.tool t on t.tool_id = v.tool_id
            join tool_rag.server s on s.server_id = t.server_id
        )
        select v.tool_id
        from unnest(p_servers, p_tools) with ordinality n (server, name, place)
        left join visible v on v.server = n.server and v.name = n.name
        order by n.place
    );
end
$$;
comment on function tool_rag._find_visible(text[], text[], int[], int[]) is
'The tools of some names, null for each that a caller (see _caller) may not see: for one that is '
'hidden by the same steps as for one that does not exist.';

create or replace function tool_rag._find_called(
    p_servers text[], p_tools text[], p_roles text[], p_allowed jsonb
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_caller constant record := tool_rag._caller(p_roles, p_allowed, null);
    v_tool_ids constant int[] := tool_rag._find_visible(
        p_servers, p_tools, v_caller.role_ids, v_caller.gate
    );
    v_place constant int := array_position(v_tool_ids, null);
begin
    if v_place is not null then
        raise exception 'tool "%/%" does not exist for these roles', p_servers[v_place],
            p_tools[v_place]
            using errcode = 'undefined_object',
            hint = 'Name it as its server and its tool, with the roles of the search; '
                'resolve_tool finds misspelt names.';
    end if;
    return v_tool_ids;
end
$$;
comment on function tool_rag._find_called(text[], text[], text[], jsonb) is
'The tools that a caller names, or an error that names no other tool: a model wrote the names.';

create or replace function tool_rag.record_use(
    conversation text, turn int, server text, tool text, roles text[] default null,
    allowed jsonb default null
) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(length(record_use.conversation), 0) not between 1 and 256 or record_use.turn < 0
    then
        raise exception 'a use needs a conversation of 1 to 256 characters and a turn from 0 on'
            using errcode = 'invalid_parameter_value',
            hint = 'Count the assistant''s turns; any identifier of the conversation serves.';
    end if;
    insert into tool_rag.tool_use (conversation, turn, tool_id)
    select record_use.conversation, coalesce(record_use.turn, m.turn, 0), t.tool_id
    from (
        select max(l.turn) as turn
        from tool_rag.message l
        where l.conversation = record_use.conversation
    ) m
    cross join unnest(tool_rag._find_called(
        array[record_use.server], array[record_use.tool], record_use.roles, record_use.allowed
    )) t (tool_id)
    on conflict on constraint tool_use_pkey do update set used_at = excluded.used_at;
end
$$;
comment on function tool_rag.record_use(text, int, text, text, text[], jsonb) is
'Notes that a conversation used a tool in one of its assistant turns; turn null stands for that of '
'its last recorded message. roles and allowed say who asks, as in search_tools: only a tool that '
'these may see is noted.';

create or replace function tool_rag.record_sent(
    conversation text, tools text[], roles text[] default null, allowed jsonb default null
) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_wrong text;
    v_tool_ids int[];
    v_place int;
    v_count int;
begin
    if coalesce(length(record_sent.conversation), 0) not between 1 and 256
        or record_sent.tools is null or array_ndims(record_sent.tools) > 1
        or array_position(record_sent.tools, null) is not null
    then
        raise exception 'what was sent needs a conversation of 1 to 256 characters and its tools'
            using errcode = 'invalid_parameter_value',
            hint = 'Pass the tools in the order of the prompt, each as ''SERVER/TOOL''.';
    end if;
    select t.tool into v_wrong
    from unnest(record_sent.tools) t (tool)
    where strpos(t.tool, '/') not between 2 and length(t.tool) - 1
    limit 1;
    if v_wrong is not null then
        raise exception '"%" is not of the form SERVER/TOOL', v_wrong using
            errcode = 'invalid_parameter_value',
            hint = 'Pass the tools in the order of the prompt, each as ''SERVER/TOOL''.';
    end if;
    v_tool_ids := tool_rag._find_called(
        array(
            select split_part(t.tool, '/', 1)
            from unnest(record_sent.tools) with ordinality t (tool, place)
            order by t.place
        ),
        array(
            select substr(t.tool, strpos(t.tool, '/') + 1)
            from unnest(record_sent.tools) with ordinality t (tool, place)
            order by t.place
        ),
        record_sent.roles, record_sent.allowed
    );
    -- One at a time, so that two callers give no place twice.
    perform pg_advisory_xact_lock(hashtextextended('tool_sent ' || record_sent.conversation, 0));
    update tool_rag.tool_sent s
    set sent_at = now()
    where s.conversation = record_sent.conversation;
    select coalesce(max(s.place), 0) into v_place
    from tool_rag.tool_sent s
    where s.conversation = record_sent.conversation;
    insert into tool_rag.tool_sent (conversation, place, tool_id)
    select record_sent.conversation, v_place + row_number() over (order by n.place), n.tool_id
    from (
        select t.tool_id, min(t.place) as place
        from unnest(v_tool_ids) with ordinality t (tool_id, place)
        group by t.tool_id
    ) n
    where not exists (
        select
        from tool_rag.tool_sent s
        where s.conversation = record_sent.conversation and s.tool_id = n.tool_id
    );
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function tool_rag.record_sent(text, text[], text[], jsonb) is
'Notes which tools (''SERVER/TOOL'', in order) a conversation''s model was given; those that are new '
'come after the earlier ones. Returns how many are new. roles and allowed say who asks, as in '
'search_tools.';

create or replace function tool_rag.record_message(
    conversation text, said text, out turn int, out context text[]
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_turn int;
    v_context text[];
begin
    if coalesce(length(record_message.conversation), 0) not between 1 and 256
        or record_message.said is null
    then
        raise exception 'a message needs a conversation of 1 to 256 characters and a text' using
            errcode = 'invalid_parameter_value',
            hint = 'Name conversations so that nobody can guess the name of another''s.';
    end if;
    -- One at a time, so that two callers get no turn twice.
    perform pg_advisory_xact_lock(hashtextextended('message ' || record_message.conversation, 0));
    select coalesce(max(m.turn) + 1, 0), coalesce(array_agg(m.said order by m.turn), '{}')
    into v_turn, v_context
    from tool_rag.message m
    where m.conversation = record_message.conversation;
    delete from tool_rag.message m
    where m.conversation = record_message.conversation and m.turn <= v_turn - 4;
    insert into tool_rag.message (conversation, turn, said)
    values (record_message.conversation, v_turn, left(record_message.said, 10000));
    turn := v_turn;
    context := v_context;
end
$$;
comment on function tool_rag.record_message(text, text) is
'Notes a request of a conversation and returns the number of this turn, from 0, and the requests '
'before it, at most four, the latest last: the context of a search. For backends that keep no '
'conversations themselves. Whoever knows a conversation''s name gets its requests.';

create or replace function tool_rag.forget_conversations(
    before timestamptz, conversation text default null
) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    if forget_conversations.before is null then
        raise exception 'before is null' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass a time, for example now() - interval ''1 day''.';
    end if;
    with touched as (
        select u.conversation, u.used_at as at from tool_rag.tool_use u
        union all
        select s.conversation, s.sent_at from tool_rag.tool_sent s
        union all
        select m.conversation, m.said_at from tool_rag.message m
    ),
    old as (
        select t.conversation
        from touched t
        where forget_conversations.conversation is null
            or t.conversation = forget_conversations.conversation
        group by t.conversation
        having max(t.at) < forget_conversations.before
    ),
    uses as (
        delete from tool_rag.tool_use u using old where u.conversation = old.conversation
    ),
    sendings as (
        delete from tool_rag.tool_sent s using old where s.conversation = old.conversation
    ),
    messages as (
        delete from tool_rag.message m using old where m.conversation = old.conversation
    )
    select count(*) into v_count from old;
    return v_count;
end
$$;
comment on function tool_rag.forget_conversations(timestamptz, text) is
'Removes what is known of conversations that were silent since a time (of all, or of one); returns '
'how many.';
