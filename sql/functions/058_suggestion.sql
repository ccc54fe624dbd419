-- Suggestions: which tools seem to need which others, read from names and schemas alone.

create or replace function tool_rag._singular(p_words text[]) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    select array(
        select case
            when w.word in ('repo', 'repos') then 'repository'
            when w.word in ('org', 'orgs') then 'organization'
            when w.word = 'people' then 'person'
            when length(w.word) <= 3 or w.word ~ '(ss|us|is)$' then w.word
            when w.word ~ 'ies?$' then regexp_replace(w.word, 'ies?$', 'y')
            when w.word ~ '(ss|us|is|x|z|ch|sh)es?$' then regexp_replace(w.word, 'es?$', '')
            else regexp_replace(w.word, 's?s$', '')
        end
        from unnest(p_words) with ordinality w (word, place)
        order by w.place
    )
$$;
comment on function tool_rag._singular(text[]) is
'Words as keys that their plural has as well: orders and order, cities and city. Not for display.';

create or replace function tool_rag._parse_tool_name(
    p_name text, p_server text, out verb text, out noun text[], out area text[],
    out is_lookup boolean, out is_many boolean
)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    v_words text[] := tool_rag._name_words(p_name);
    v_server text[] := tool_rag._name_words(p_server);
    v_front text[] := '{}';
    v_before text[];
    v_place int;
    v_end int;
    v_last text;
begin
    while cardinality(v_words) > 1 and v_words[1] = any(v_server) loop
        v_front := v_front || v_words[1];
        v_words := v_words[2:];
    end loop;
    -- The first verb, wherever it stands: get_order, order_get, admin_orders_getLines.
    select w.place into v_place
    from unnest(v_words) with ordinality w (word, place)
    where w.word = any('{
        list,search,find,query,lookup,browse,filter,enumerate,locate,discover,
        get,fetch,retrieve,read,show,view,describe,info,
        add,create,new,insert,generate,make,open,start,begin,launch,post,put,upsert,register,
        update,edit,modify,change,set,patch,rename,write,replace,configure,
        delete,remove,destroy,drop,clear,purge,cancel,close,stop,end,terminate,abort,
        send,reply,forward,invite,notify,publish,share,submit,upload,download,import,export,
        assign,unassign,attach,detach,link,unlink,move,copy,clone,merge,archive,restore,
        approve,reject,accept,decline,decide,confirm,complete,finish,resolve,reopen,
        book,reserve,schedule,buy,purchase,pay,charge,refund,capture,void,transfer,
        enable,disable,activate,deactivate,block,unblock,lock,unlock,grant,revoke,
        run,execute,invoke,trigger,retry,check,validate,verify,count,calculate,compute,
        follow,unfollow,subscribe,unsubscribe,join,leave,pin,unpin,star,unstar,mark
    }'::text[])
    order by w.place
    limit 1;
    v_place := coalesce(v_place, 1);
    verb := v_words[v_place];
    is_many := verb = any('{
        list,search,find,query,lookup,browse,filter,enumerate,locate,discover
    }'::text[]);
    is_lookup := is_many or verb = any('{get,fetch,retrieve,read,show,view,describe}'::text[]);
    -- Its object stands behind it, up to "by" and the like, or else in front of it.
    select min(w.place) into v_end
    from unnest(v_words) with ordinality w (word, place)
    where w.place > v_place and w.word = any(
        '{by,for,of,in,from,with,to,on,at,via,and,or,per,using,within,as,into,about}'::text[]
    );
    noun := v_words[v_place + 1:coalesce(v_end, cardinality(v_words) + 1) - 1];
    v_before := v_words[:v_place - 1];
    if cardinality(noun) = 0 then
        noun := case cardinality(v_before) when 0 then v_front else v_before end;
        v_before := '{}';
    end if;
    while cardinality(noun) > 1 and noun[1] = any(
        '{all,my,the,a,an,new,recent,latest,current,available,active,open,own,any,some}'::text[]
    ) loop
        noun := noun[2:];
    end loop;
    while cardinality(noun) > 1 and noun[cardinality(noun)] = any('{
        list,id,ids,method,details,detail,info,information,summary,status,data,results,result
    }'::text[]) loop
        -- get_order_status tells of an order that is known.
        is_lookup := is_lookup and (is_many or noun[cardinality(noun)] <> all('{
            details,detail,info,information,summary,status,data,results,result
        }'::text[]));
        is_many := is_many or noun[cardinality(noun)] = 'list';
        noun := noun[:cardinality(noun) - 1];
    end loop;
    v_last := noun[cardinality(noun)];
    is_many := is_many or coalesce(v_last ~ '[^sui]s$' or v_last = 'people', false);
    noun := tool_rag._singular(noun);
    area := tool_rag._singular(v_before || case
        when v_words[v_end] = any('{of,in,from,for,within,per,on,at}'::text[])
        then v_words[v_end + 1:] else '{}'
    end);
end
$$;
comment on function tool_rag._parse_tool_name(text, text) is
'What a tool does to what, by its name: list_open_orders_of_shop is the verb list on the noun '
'order in the area shop, a lookup that yields many.';

create or replace function tool_rag._parse_parameter(
    p_name text, p_own text[], out kind text, out noun text[]
)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_words text[] := tool_rag._name_words(p_name);
    v_last text := v_words[cardinality(v_words)];
    v_rest text[] := v_words[:cardinality(v_words) - 1];
begin
    kind := 'id';
    if cardinality(v_words) = 0 then
        kind := 'word';
        noun := '{}';
    elsif v_words <@ '{id,ids,uuid,uuids,guid,identifier}' then
        noun := p_own;
    elsif v_last in ('id', 'ids', 'uuid', 'uuids', 'guid', 'identifier') then
        noun := tool_rag._singular(v_rest);
    elsif v_words[1] = 'id' then
        noun := tool_rag._singular(v_words[2:]);
    elsif cardinality(v_rest) > 0
        and v_last in ('number', 'numbers', 'key', 'keys', 'slug', 'ref', 'reference')
    then
        kind := 'number';
        noun := tool_rag._singular(v_rest);
    else
        kind := 'word';
        noun := tool_rag._singular(v_words);
    end if;
end
$$;
comment on function tool_rag._parse_parameter(text, text[]) is
'What a parameter or a property names: order_id an order, id what its own tool is about.';

create or replace function tool_rag.suggest_dependencies(
    server text default null, max_rows int default 100
) returns table (
    server text, tool text, needs_server text, needs_tool text, parameter text, reason text,
    confidence real
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set jit = off
-- Nothing is known of the steps below when it is planned, and each may have thousands of rows.
set enable_nestloop = off
as $$
    with recursive tool as materialized (
        select t.tool_id, t.server_id, s.name as server, t.name, n.verb, n.noun, n.area, n.is_many,
            -- Where annotations say nothing, the verb does.
            n.is_lookup and (t.annotations -> 'readOnlyHint') is distinct from 'false'::jsonb
            and (t.annotations -> 'destructiveHint') is distinct from 'true'::jsonb as is_lookup,
            t.is_action, t.input_schema, t.output_schema, t.identity_parameters,
            case jsonb_typeof(t.input_schema -> 'required')
                when 'array' then t.input_schema -> 'required' else '[]'
            end as required,
            tool_rag._singular(tool_rag._name_words(t.name)) as words
        from tool_rag.tool t
        join tool_rag.server s on s.server_id = t.server_id
        cross join lateral tool_rag._parse_tool_name(t.name, s.name) n
        where tool_rag._check_unbound() and t.enabled and s.enabled
            and (suggest_dependencies.server is null or s.name = suggest_dependencies.server)
    ),
    required as materialized (
        select t.tool_id, r.name, r.place, p.schema, n.kind, n.noun,
            array_to_string(n.noun, ' ') as key,
            ' ' || tool_rag._lower(coalesce(p.schema ->> 'description', '')) as description
        from tool t
        cross join lateral jsonb_array_elements_text(t.required) with ordinality r (name, place)
        cross join lateral (select t.input_schema -> 'properties' -> r.name) p (schema)
        cross join lateral tool_rag._parse_parameter(r.name, t.noun) n
    ),
    -- What may be needed, with what it asks for, what it yields, and its place among its like,
    -- since a server may have thousands that list the same.
    giver as materialized (
        select t.tool_id, t.server_id, t.name, t.verb, t.noun, t.area, t.is_many, t.is_action,
            t.is_lookup, jsonb_array_length(t.required) as questions,
            coalesce(a.keys, '{}') as asked, y.keys as yielded,
            row_number() over (
                partition by t.server_id, t.is_lookup, t.noun[cardinality(t.noun)]
                order by cardinality(t.noun), t.name collate "C"
            ) as place_by_last,
            row_number() over (
                partition by t.server_id, t.is_lookup, t.noun[1]
                order by cardinality(t.noun), t.name collate "C"
            ) as place_by_first
        from tool t
        left join (
            select r.tool_id, array_agg(r.key) as keys from required r group by r.tool_id
        ) a on a.tool_id = t.tool_id
        cross join lateral (
            select array(
                select distinct n.kind || ' ' || array_to_string(n.noun, ' ')
                from jsonb_path_query(
                    t.output_schema,
                    '$.**{0 to 12}.properties ? (@.type() == "object").keyvalue().key'
                ) p (name)
                cross join lateral tool_rag._parse_parameter(p.name #>> '{}', t.noun) n
                where n.kind <> 'word'
            )
        ) y (keys)
        where t.is_lookup or not t.is_action
    ),
    wanted as materialized (
        select r.*, t.server_id, t.words as tool_words, t.noun as tool_noun, a.is_adding
        from required r
        join tool t on t.tool_id = r.tool_id
        cross join lateral (
            select
                t.verb = any('{add,create,new,insert,generate,register,make,post}'::text[]),
                t.verb = any('{add,assign,attach,link,invite}'::text[])
        ) a (is_making, is_adding)
        where r.name <> all(t.identity_parameters) and cardinality(r.noun) > 0
            and coalesce(
                case r.schema ->> 'type'
                    when 'array' then r.schema #> '{items,type}' else r.schema -> 'type'
                end ?| '{string,integer,number}',
                true
            )
            and not coalesce(r.schema ?| '{enum,const,default}', false)
            -- A new thing's own id and name are for the caller to choose.
            and not (
                a.is_making and (
                    t.noun = r.noun
                    or r.kind <> 'id' and t.noun[cardinality(t.noun)] = any(r.noun)
                )
            )
            and case r.kind
                when 'number' then r.noun[1] <> all('{
                    page,line,row,column,api,access,secret,public,private,phone,card
                }'::text[])
                -- A mere word, where it is not a text and nothing speaks against an id.
                when 'word' then r.noun[cardinality(r.noun)] <> all('{
                    file,image,document,message,comment,note,text,content,attachment,photo,video,
                    item,line,entry,change,field,value,query,date,time
                }'::text[])
                and (
                    r.description = ' '
                    or r.description ~ '\m(ids?|identifiers?|uuids?|slugs?|keys?)\M'
                )
                else true
            end
    ),
    -- What only one tool yields that does not ask for it, and that one is no list of other things.
    source as materialized (
        select g.server_id, y.key, min(g.tool_id) as tool_id
        from giver g
        cross join lateral unnest(g.yielded) y (key)
        where not g.is_many and substr(y.key, strpos(y.key, ' ') + 1) <> all(g.asked)
        group by g.server_id, y.key
        having count(*) = 1
    ),
    pair as materialized (
        select k.tool_id, k.name, g.tool_id as needs_id
        from wanted k
        join giver g on g.server_id = k.server_id
            and g.noun[cardinality(g.noun)] = k.noun[cardinality(k.noun)]
        where g.is_lookup and g.place_by_last <= 100
        union
        -- pull_number is the number of a "pull request", as its description says.
        select k.tool_id, k.name, g.tool_id
        from wanted k
        join giver g on g.server_id = k.server_id and g.noun[1] = k.noun[1]
        where g.is_lookup and g.place_by_first <= 100
            and strpos(k.description, ' ' || array_to_string(g.noun, ' ')) > 0
        union
        select k.tool_id, k.name, s.tool_id
        from wanted k
        join source s on s.server_id = k.server_id and s.key = k.kind || ' ' || k.key
    ),
    -- How the two nouns fit, unless the tool that gives the id asks for it itself.
    fit as materialized (
        select k.tool_id, k.name, k.place, k.kind, k.noun, k.tool_noun, k.is_adding,
            g.tool_id as needs_id, g.name as needs_name, g.noun as needs_noun, g.is_many,
            g.is_action, g.questions, g.area <@ k.tool_words as is_near,
            g.verb in ('list', 'search', 'find') as is_searching,
            g.noun[cardinality(g.noun) - cardinality(k.noun) + 1:] = k.noun as is_narrower,
            k.noun[cardinality(k.noun) - cardinality(g.noun) + 1:] = g.noun as is_wider,
            g.noun || g.area <@ k.tool_words as is_named,
            g.noun[:cardinality(k.noun)] = k.noun
            and strpos(k.description, ' ' || array_to_string(g.noun, ' ')) > 0 as is_spelt_out,
            k.kind || ' ' || k.key = any(g.yielded) as is_yielded,
            'id ' || array_to_string(g.noun, ' ') = any(g.yielded) as is_own_yielded,
            cardinality(g.yielded) > 0 as has_output,
            s.tool_id is not null as is_source
        from pair p
        join wanted k on k.tool_id = p.tool_id and k.name = p.name
        join giver g on g.tool_id = p.needs_id
        left join source s on s.server_id = k.server_id and s.key = k.kind || ' ' || k.key
            and s.tool_id = g.tool_id
        where g.tool_id <> k.tool_id
            and k.key <> all(g.asked) and array_to_string(g.noun, ' ') <> all(g.asked)
    ),
    judged as materialized (
        select f.*,
            case
                when f.needs_noun = f.noun and f.is_near and (f.is_many or f.is_yielded) then 0.75
                when f.kind = 'word' then null
                when f.needs_noun = f.noun and not f.is_many then 0.5
                when not f.is_many then null
                when f.is_narrower and f.needs_noun = f.tool_noun and not f.is_adding then 0.85
                when f.is_narrower and f.needs_noun <> f.tool_noun and f.is_named then 0.8
                when f.is_spelt_out and f.is_near then 0.7
                when f.is_wider and f.is_near then 0.6
                -- Of another kind, as list_unpaid_orders, but the only one, and no part of a whole.
                when f.is_narrower
                    and f.noun[cardinality(f.noun)] <> all('{
                        comment,entry,event,item,line,member,message,note,step,version
                    }'::text[])
                    and 1 = count(*) filter (where f.is_narrower and f.is_many)
                        over (partition by f.tool_id, f.name)
                then 0.5
            end as fitness
        from fit f
    ),
    best as (
        select distinct on (j.tool_id, j.name) j.*, c.confidence
        from judged j
        cross join lateral (
            select least(
                0.99,
                coalesce(j.fitness, 0.5)
                + case when j.kind = 'word' then -0.2 else 0 end
                + case when j.is_action then 0 else 0.05 end
                + case when j.is_searching then 0 else -0.03 end
                + case
                    when j.is_yielded or j.is_own_yielded then 0.15
                    when j.has_output then -0.1
                    else 0
                end
            )::real
        ) c (confidence)
        where j.fitness is not null or j.is_source
        order by j.tool_id, j.name, j.fitness desc nulls last, c.confidence desc, j.questions,
            length(j.needs_name), j.needs_name collate "C"
    ),
    -- Nothing for parameters that a rule serves already, and one reason for each pair of tools.
    fresh as (
        select distinct on (b.tool_id, b.needs_id) b.*
        from best b
        where not exists (
            select
            from judged j
            join tool_rag.dependency d on d.tool_id = j.tool_id and d.needs_id = j.needs_id
            where j.tool_id = b.tool_id and j.name = b.name
        )
        order by b.tool_id, b.needs_id, b.confidence desc, b.place
    ),
    proposal as materialized (
        select row_number() over (
                order by f.confidence desc, t.server collate "C", t.name collate "C", f.place
            ) as rank,
            t.server, t.name as tool, f.needs_name, f.name as parameter, f.confidence,
            f.tool_id, f.needs_id
        from fresh f
        join tool t on t.tool_id = f.tool_id
    ),
    -- A proposal must not lead back through rules and better proposals. Only tools that others
    -- need can be on such a way.
    edge as materialized (
        select 0 as rank, d.tool_id, d.needs_id from tool_rag.dependency d
        union all
        select p.rank, p.tool_id, p.needs_id
        from proposal p
        where p.tool_id in (
            select needs_id from proposal union all select needs_id from tool_rag.dependency
        )
    ),
    way (rank, start_id, tool_id) as (
        select e.rank, e.tool_id, e.needs_id from edge e where e.rank > 0
        union
        select w.rank, w.start_id, e.needs_id
        from way w
        join edge e on e.tool_id = w.tool_id and e.rank < w.rank
    )
    select p.server, p.tool, p.server, p.needs_name, p.parameter,
        left(p.parameter || ' comes from ' || p.needs_name, 1000), p.confidence
    from proposal p
    where not exists (select from way w where w.rank = p.rank and w.tool_id = w.start_id)
    order by p.rank
    limit suggest_dependencies.max_rows
$$;
comment on function tool_rag.suggest_dependencies(text, int) is
'Proposes which tools need which others, best first, by names and schemas alone: a required '
'parameter such as order_id comes from a tool of the same server that lists or finds orders, or '
'whose output_schema has it. Nothing that a rule serves already, and no cycle; add_dependency '
'takes what is right. With a server only its tools. For admins: it asks nobody''s roles.';
