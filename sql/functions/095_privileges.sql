-- Privileges: which group of logins may do what. Each upgrade applies them at its end.

create or replace function tool_rag._apply_privileges(p_create boolean) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_reader constant text[] := '{
        authenticate_key,count_tools,describe_tool,embed,explain_missing,permitted_servers,
        permitted_tools,record_call,record_message,record_sent,record_use,resolve_tool,
        search_tools,search_tools_batch,unknown_roles,unmatched_words
    }';
    -- Each group has all that the one before it has.
    v_editor constant text[] := v_reader || '{
        add_dependency,add_example,add_synonym,explain_access,forget_conversations,
        grant_tools,list_dependencies,list_embedding_models,list_examples,list_roles,list_rules,
        list_synonyms,list_tool_access,list_tools,remove_dependency,remove_example,remove_synonym,
        revoke_tools,store_rules,suggest_dependencies
    }'::text[];
    v_admin constant text[] := v_editor || '{
        add_api_key,add_embedding_model,add_role,approve_tools,bind_login,distrust_login,
        drop_embedding_model,grant_access,lint_catalogue,lint_tools,list_access_changes,
        list_api_keys,list_audit_events,list_changes,list_logins,list_pending_tools,
        list_review_policies,purge_audit,reindex_tools,reject_tools,remove_role,remove_server,
        revoke_access,revoke_api_key,rotate_api_key,set_audit,set_description,
        set_review_policy,set_roles_claim,set_strict_statistics,store_vectors,texts_to_embed,
        trust_login,try_approval,unbind_login,upsert_tools,use_embedding_model
    }'::text[];
    -- What an admin may edit as rows; triggers, which run as the owner, derive the rest.
    v_edited constant text[] := '{
        access_setting,dependency,example,grant_rule,login,login_role,message,ranking_setting,
        review_setting,role,role_parent,server,synonym,tool,tool_sent,tool_use
    }';
    v_group text;
    v_names text[];
    v_thing text;
    v_missing text[] := '{}';
begin
    if to_regclass('tool_rag.alembic_version') is not null then
        alter table tool_rag.alembic_version enable row level security;
    end if;
    foreach v_group in array '{tool_rag_reader,tool_rag_editor,tool_rag_admin}'::text[] loop
        if p_create and to_regrole(v_group) is null then
            begin
                execute format('create role %I nologin', v_group);
            exception
                when insufficient_privilege then
                    v_missing := v_missing || v_group;
                -- Another database of this server came first.
                when duplicate_object or unique_violation then
                    null;
            end;
        end if;
        continue when to_regrole(v_group) is null;
        v_names := case v_group
            when 'tool_rag_reader' then v_reader
            when 'tool_rag_editor' then v_editor
            else v_admin
        end;
        execute format('revoke all on all functions in schema tool_rag from %I', v_group);
        execute format('revoke all on all tables in schema tool_rag from %I', v_group);
        execute format('revoke all on schema tool_rag from %I', v_group);
        execute format('grant usage on schema tool_rag to %I', v_group);
        execute format('grant select on tool_rag.my_tools to %I', v_group);
        for v_thing in
            select p.oid::regprocedure::text
            from pg_proc p
            where p.pronamespace = 'tool_rag'::regnamespace and p.proname = any(v_names)
            order by p.proname collate "C"
        loop
            execute format('grant execute on function %s to %I', v_thing, v_group);
        end loop;
    end loop;
    if cardinality(v_missing) > 0 then
        raise warning 'the group roles % are missing, and this user may not create them',
            array_to_string(v_missing, ', ')
            using hint = 'All works for the owner of the schema. To have the groups, as a user who '
                'may create roles: tool-rag db upgrade.';
    end if;
    if to_regrole('tool_rag_admin') is null then
        return;
    end if;
    for v_thing in
        select c.relname
        from pg_class c
        where c.relnamespace = 'tool_rag'::regnamespace and c.relkind = 'r'
        order by c.relname collate "C"
    loop
        -- Digests of keys are for nobody to read.
        continue when v_thing = 'api_key';
        execute format('grant select on tool_rag.%I to tool_rag_admin', v_thing);
        if v_thing = any(v_edited) then
            execute format(
                'grant insert, update, delete, truncate on tool_rag.%I to tool_rag_admin', v_thing
            );
        end if;
        if exists (
            select
            from pg_policy p
            join pg_class c on c.oid = p.polrelid
            where c.relnamespace = 'tool_rag'::regnamespace and c.relname = v_thing
                and p.polname = 'admin'
        ) then
            execute format('drop policy admin on tool_rag.%I', v_thing);
        end if;
        execute format(
            'create policy admin on tool_rag.%I to tool_rag_admin using (true) with check (true)',
            v_thing
        );
    end loop;
end
$$;
comment on function tool_rag._apply_privileges(boolean) is
'Gives the group roles tool_rag_reader, tool_rag_editor and tool_rag_admin, which all databases of a '
'server share, exactly what is their own here, and nobody else anything; creates those that are '
'missing, if that is wanted and permitted.';
