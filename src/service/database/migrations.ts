/** The version that the first entry of `migrations` makes. The smaller numbers were used before the first release. */
export const firstVersion = 14;

/** SQL statements: each entry brings a database to the next version. Released entries never change. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    max_concurrent_sessions INTEGER,
    max_concurrent_invocations INTEGER,
    max_pooled_sessions INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX project_names ON projects (name) WHERE deleted_at IS NULL;
  INSERT INTO projects (id, name, status, created_at, updated_at)
    VALUES (lower(hex(randomblob(12))), 'default', 'active', unixepoch() * 1000, unixepoch() * 1000);
  CREATE TABLE organization (default_project_max_concurrent_sessions INTEGER) STRICT;
  INSERT INTO organization VALUES (NULL);
  CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    masked_key TEXT NOT NULL,
    salt TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    deleted_at INTEGER,
    project_id TEXT REFERENCES projects,
    created_by TEXT REFERENCES api_keys,
    is_own INTEGER NOT NULL DEFAULT 0,
    -- The lifetime that the key was made with. A rotation changes expires_at only.
    life_ms INTEGER
  ) STRICT;
  CREATE INDEX own_api_keys ON api_keys (is_own) WHERE is_own = 1;
  CREATE INDEX api_keys_of_project ON api_keys (project_id);
  CREATE TABLE pools (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
  ) STRICT;
  CREATE TABLE profiles (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used_at INTEGER,
    version TEXT,
    UNIQUE (project_id, name)
  ) STRICT;
  CREATE TABLE extensions (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    size_bytes INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    UNIQUE (project_id, name)
  ) STRICT;
  CREATE TABLE proxies (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT,
    protocol TEXT NOT NULL,
    bypass_hosts TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    username TEXT,
    password TEXT,
    ca_bundle TEXT,
    status TEXT,
    status_reason TEXT,
    last_checked INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX proxies_of_project ON proxies (project_id);
  CREATE TABLE credentials (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    name TEXT NOT NULL,
    domain TEXT NOT NULL,
    totp_secret TEXT,
    sso_provider TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
  ) STRICT;
  CREATE TABLE credential_values (
    credential_id TEXT NOT NULL REFERENCES credentials ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (credential_id, name)
  ) STRICT;
  CREATE TABLE credential_providers (
    id TEXT PRIMARY KEY,
    provider_type TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    token TEXT NOT NULL,
    address TEXT,
    enabled INTEGER NOT NULL DEFAULT 1,
    priority INTEGER NOT NULL,
    cache_ttl_seconds INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE auth_connections (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    profile_name TEXT NOT NULL,
    domain TEXT NOT NULL,
    status TEXT NOT NULL,
    settings TEXT NOT NULL,
    post_login_url TEXT,
    checked_at INTEGER,
    needs TEXT,
    flow TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, profile_name, domain)
  ) STRICT;
  CREATE TABLE auth_events (
    id TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES auth_connections ON DELETE CASCADE,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    details TEXT NOT NULL
  ) STRICT;
  CREATE INDEX auth_events_of_connection ON auth_events (connection_id);
  CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    status TEXT NOT NULL,
    status_reason TEXT,
    version TEXT NOT NULL,
    entrypoint TEXT NOT NULL,
    force INTEGER NOT NULL,
    env_vars TEXT NOT NULL,
    checksum TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    apps TEXT
  ) STRICT;
  CREATE INDEX deployments_of_project ON deployments (project_id, status);
  CREATE VIEW app_versions AS
    SELECT deployments.id || iif(app.key = 0, '', '-' || (app.key + 1)) AS id, deployments.id AS deployment_id,
      project_id, status, json_extract(app.value, '$.name') AS app_name, version,
      json_extract(app.value, '$.actions') AS actions, env_vars, created_at
    FROM deployments, json_each(deployments.apps) AS app;
  CREATE TABLE invocations (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects,
    deployment_id TEXT NOT NULL,
    app_name TEXT NOT NULL,
    version TEXT NOT NULL,
    action_name TEXT NOT NULL,
    payload TEXT,
    output TEXT,
    status TEXT NOT NULL,
    status_reason TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
  ) STRICT;
  CREATE INDEX invocations_of_project ON invocations (project_id, created_at);
  CREATE TABLE app_logs (
    at INTEGER PRIMARY KEY,
    deployment_id TEXT NOT NULL,
    invocation_id TEXT,
    message TEXT NOT NULL
  ) STRICT;
  CREATE INDEX app_logs_of_deployment ON app_logs (deployment_id, at);
  CREATE INDEX app_logs_of_invocation ON app_logs (invocation_id, at) WHERE invocation_id IS NOT NULL;
  CREATE TABLE replays (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    token TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    content_type TEXT,
    failure TEXT,
    markers TEXT NOT NULL,
    project_id TEXT REFERENCES projects
  ) STRICT;
  CREATE INDEX replays_of_session ON replays (session_id);
  CREATE TABLE machine_sessions (
    id TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  -- Of the dashboard.
  CREATE TABLE sign_ins (
    hash TEXT PRIMARY KEY,
    api_key_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE audit_logs (
    id INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    service TEXT NOT NULL,
    auth_strategy TEXT NOT NULL,
    user_id TEXT NOT NULL,
    email TEXT NOT NULL,
    status INTEGER NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    route TEXT NOT NULL,
    domain TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    client_ip TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    text TEXT GENERATED ALWAYS AS
      (lower(path || char(10) || user_id || char(10) || email || char(10) || client_ip || char(10) || status)) VIRTUAL
  ) STRICT;
  CREATE INDEX audit_logs_by_service ON audit_logs (service);
  CREATE INDEX audit_logs_by_auth_strategy ON audit_logs (auth_strategy);
  CREATE INDEX audit_logs_by_user ON audit_logs (user_id);
  CREATE INDEX audit_logs_by_method ON audit_logs (method);
  CREATE VIRTUAL TABLE audit_log_texts USING fts5 (text, tokenize = 'trigram', detail = none, content = '', contentless_delete = 1);
  `,
];
