// Made by `npm run docs` from the routes of the admin API.

import type { Readable } from 'node:stream';

/** What each route of the admin API takes and answers. */
export interface AdminRoutes {
  /** Delete a memory file. */
  'DELETE /v1/admin/files/*path': {
    request: { params: { path: string }; query?: {
      actor?: "folder";
    } };
    result: {
      path: string;
      version: number;
      revisionId: string;
    };
  };
  /** Allow writes again. */
  'DELETE /v1/admin/freezes/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      actor: string | null;
      keyId: string | null;
      all: boolean;
      reason: string;
      at: string;
      until: string;
      address: string | null;
    };
  };
  /** Revoke a key. */
  'DELETE /v1/admin/keys/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      users: readonly (string)[] | null;
      spaces: readonly (string)[];
      tools: readonly (string)[] | null;
      rateLimit: number | null;
      actor: string | null;
      manage: boolean;
    };
  };
  /** Remove an operator. */
  'DELETE /v1/admin/operators/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      role: "viewer" | "operator" | "admin";
      contents: boolean;
    };
  };
  /** Read the metrics of this instance. */
  'GET /metrics': {
    request: object;
    result: Readable;
  };
  /** List access rows. */
  'GET /v1/admin/access-logs': {
    request: { query?: {
      path?: string;
      prefix?: string;
      q?: string;
      userId?: string;
      spaceId?: string;
      actor?: string;
      key?: string;
      tool?: string;
      action?: "read" | "write" | "list" | "find" | "context";
      outcome?: "ok" | "denied" | "not_found" | "error";
      traceId?: string;
      runId?: string;
      toolCallId?: string;
      revisionId?: string;
      since?: string;
      until?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        at: string;
        userId: string | null;
        spaceId: string | null;
        path: string;
        actor: string;
        key: string | null;
        tool: string | null;
        action: "read" | "write" | "list" | "find" | "context";
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        revisionId: string | null;
        version: number | null;
        lines: readonly ({
          startLine: number;
          endLine: number;
        })[] | null;
        rank: number | null;
        outcome: "ok" | "denied" | "not_found" | "error";
      })[];
      nextCursor: string | null;
    };
  };
  /** Count the values that access rows can be filtered by. */
  'GET /v1/admin/access-logs/values': {
    request: { query?: {
      path?: string;
      prefix?: string;
      q?: string;
      userId?: string;
      spaceId?: string;
      actor?: string;
      key?: string;
      tool?: string;
      action?: "read" | "write" | "list" | "find" | "context";
      outcome?: "ok" | "denied" | "not_found" | "error";
      traceId?: string;
      runId?: string;
      toolCallId?: string;
      revisionId?: string;
      since?: string;
      until?: string;
    } };
    result: {
      rows: number;
      from: string | null;
      fields: readonly ({
        field: string;
        values: readonly ({
          value: string;
          count: number;
        })[];
        others: number;
      })[];
      without: readonly ({
        filter: string;
        rows: number;
        isMore: boolean;
      })[];
    };
  };
  /** List changes made through the admin API. */
  'GET /v1/admin/audit': {
    request: { query?: {
      action?: string;
      operator?: string;
      q?: string;
      since?: string;
      until?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        at: string;
        action: string;
        target: string;
        details: Record<string, unknown>;
        operator: string | null;
        address: string | null;
        traceId: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Count the values that changes can be filtered by. */
  'GET /v1/admin/audit/values': {
    request: { query?: {
      action?: string;
      operator?: string;
      q?: string;
      since?: string;
      until?: string;
    } };
    result: {
      rows: number;
      from: string | null;
      fields: readonly ({
        field: string;
        values: readonly ({
          value: string;
          count: number;
        })[];
        others: number;
      })[];
      without: readonly ({
        filter: string;
        rows: number;
        isMore: boolean;
      })[];
    };
  };
  /** Read how far the copy is. */
  'GET /v1/admin/backup': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        file: string;
        bytes: number;
      } | null;
      error: string | null;
    } | null;
  };
  /** Read the stored checks. */
  'GET /v1/admin/checks': {
    request: object;
    result: {
      version: number;
      text: string;
      checks: readonly ({
        name: string;
        line: number;
        about: "user" | "space" | "path" | "each_user" | "everywhere";
        kind: "ask" | "contains" | "absent" | "at_most_one_line" | "exists" | "max_bytes" | "hygiene";
      })[];
      mistakes: readonly ({
        line: number;
        message: string;
      })[];
    };
  };
  /** Read how far a run of checks is. */
  'GET /v1/admin/checks/progress/:id': {
    request: { params: { id: string } };
    result: {
      files: number;
      done: number;
      total: number;
    } | null;
  };
  /** List the runs of the stored checks. */
  'GET /v1/admin/checks/runs': {
    request: object;
    result: {
      items: readonly ({
        id: string;
        origin: "hand" | "nightly" | "embedder";
        at: string;
        tookMs: number;
        version: number;
        passed: number;
        failed: number;
        embedder: string | null;
      })[];
      checks: readonly ({
        name: string;
        outcomes: readonly ({
          runId: string;
          passed: boolean;
          rank?: number | null;
        })[];
      })[];
    };
  };
  /** Read a run of the stored checks. */
  'GET /v1/admin/checks/runs/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      origin: "hand" | "nightly" | "embedder";
      at: string;
      tookMs: number;
      version: number;
      passed: number;
      failed: number;
      embedder: string | null;
      results: readonly ({
        name: string;
        passed: boolean;
        why?: string;
        near?: string;
        rank?: number | null;
        places?: readonly ({
          path: string;
          lines: readonly (number)[];
        })[];
        more?: number;
      })[];
      against: string | null;
      changes: readonly ({
        name: string;
        isBetter: boolean;
        turned: "red" | "green" | null;
        what: string;
      })[];
    };
  };
  /** Read the configuration. */
  'GET /v1/admin/configuration': {
    request: object;
    result: {
      file: string | null;
      settings: readonly ({
        key: string;
        value: string | null;
        source: "default" | "file" | ".env" | "environment" | "flag" | "code";
        origin: string | null;
        description: string | null;
        default: string | null;
        allowed: string | null;
        env: string | null;
        flag: string | null;
      })[];
      warnings: readonly (string)[];
    };
  };
  /** Compare a user’s memory at two times. */
  'GET /v1/admin/diff': {
    request: { query: {
      userId?: string;
      spaceId?: string;
      shared?: boolean;
      from: string;
      to?: string;
      limit?: number;
      cursor?: string;
    } };
    result: {
      items: readonly ({
        path: string;
        change: "created" | "updated" | "deleted" | "unknown";
        fromVersion: number | null;
        toVersion: number | null;
        diff: string;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read the settings of dreaming. */
  'GET /v1/admin/dream/config': {
    request: object;
    result: {
      dream_enabled: boolean;
      dream_interval_minutes: number;
      dream_grace_period_minutes: number;
      dream_max_writes: number;
      dream_concurrency: number;
      dream_mode: "auto" | "review";
      dream_window: string | null;
      dream_waiting_days: number;
      dream_max_tokens_per_user_day: number;
      dream_max_tokens_per_day: number;
      dream_max_reply_tokens: number;
      dream_run_timeout_seconds: number;
      dream_require_exam: boolean;
      schedulerStarted: boolean;
      invalidKeys?: readonly ("dream_enabled" | "dream_interval_minutes" | "dream_grace_period_minutes" | "dream_max_writes" | "dream_concurrency" | "dream_mode" | "dream_window" | "dream_waiting_days" | "dream_max_tokens_per_user_day" | "dream_max_tokens_per_day" | "dream_max_reply_tokens" | "dream_run_timeout_seconds" | "dream_require_exam")[];
    };
  };
  /** List dream runs. */
  'GET /v1/admin/dream/runs': {
    request: { query?: {
      userId?: string;
      spaceId?: string;
      state?: "queued" | "running" | "completed" | "failed" | "canceled";
      waiting?: "true";
      outcome?: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted";
      wrote?: "true";
      since?: string;
      until?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        userId: string | null;
        spaceId: string | null;
        origin: "schedule" | "manual";
        dryRun: boolean;
        mode: "auto" | "review";
        state: "queued" | "running" | "completed" | "failed" | "canceled";
        outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
        createdAt: string;
        startedAt: string | null;
        endedAt: string | null;
        filesRead: number;
        filesTouched: number;
        writes: number;
        operationsApplied: number;
        operationsWaiting: number;
        operationsDropped: number;
        inputTokens: number;
        outputTokens: number;
        model: string | null;
        promptVersion: string | null;
        error: {
          code: string;
          message: string;
        } | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read a dream run. */
  'GET /v1/admin/dream/runs/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
    };
  };
  /** List spaces with the state of their dreaming. */
  'GET /v1/admin/dream/spaces': {
    request: { query?: {
      q?: string;
      spaceIds?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        userId: string | null;
        spaceId: string | null;
        status: "queued" | "running" | "completed" | "failed" | "canceled" | null;
        paused: boolean;
        eligible: boolean;
        skipReason: "disabled" | "archived" | "paused" | "frozen" | "no_change" | "excluded_only" | "grace" | "backoff" | "budget" | "window" | "in_flight" | "model_not_configured" | null;
        lastRunId: string | null;
        lastRunAt: string | null;
        lastWriteAt: string | null;
        lastQualifyingWriteAt: string | null;
        filesTouched: number;
        operationsWaiting: number;
        error: string | null;
        runs: number;
        failures: number;
        retryAt: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** List users with the state of their dreaming. */
  'GET /v1/admin/dream/users': {
    request: { query?: {
      q?: string;
      userIds?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        userId: string | null;
        spaceId: string | null;
        status: "queued" | "running" | "completed" | "failed" | "canceled" | null;
        paused: boolean;
        eligible: boolean;
        skipReason: "disabled" | "archived" | "paused" | "frozen" | "no_change" | "excluded_only" | "grace" | "backoff" | "budget" | "window" | "in_flight" | "model_not_configured" | null;
        lastRunId: string | null;
        lastRunAt: string | null;
        lastWriteAt: string | null;
        lastQualifyingWriteAt: string | null;
        filesTouched: number;
        operationsWaiting: number;
        error: string | null;
        runs: number;
        failures: number;
        retryAt: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Export memory. */
  'GET /v1/admin/export': {
    request: { query?: {
      userId?: string;
      spaceId?: string;
      prefix?: string;
      format?: "archive" | "git";
      history?: boolean;
    } };
    result: Readable;
  };
  /** List memory files. */
  'GET /v1/admin/files': {
    request: { query?: {
      prefix?: string;
      userId?: string;
      spaceId?: string;
      q?: string;
      depth?: 1;
      sort?: "path" | "updatedAt" | "size" | "reads" | "writes";
      at?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        path: string;
        virtualPath: string;
        userId: string | null;
        spaceId: string | null;
        size: number;
        lines: number;
        version: number;
        reads: number;
        writes: number;
        revisions: number;
        latestActor: string;
        latestRevisionId: string;
        createdAt: string;
        updatedAt: string;
        lastReadAt: string | null;
      } | {
        path: string;
        folder: true;
        files: number;
        size: number;
        updatedAt: string;
      } | {
        path: string;
        virtualPath: string;
        userId: string | null;
        spaceId: string | null;
        at: string;
        isKnown: boolean;
        version: number | null;
        size: number | null;
        latestActor: string | null;
        latestRevisionId: string | null;
        updatedAt: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read a memory file. */
  'GET /v1/admin/files/*path': {
    request: { params: { path: string }; query?: {
      version?: number;
      at?: string;
      blame?: boolean;
    } };
    result: {
      file: {
        path: string;
        virtualPath: string;
        userId: string | null;
        spaceId: string | null;
        size: number;
        lines: number;
        version: number;
        reads: number;
        writes: number;
        revisions: number;
        latestActor: string | null;
        latestRevisionId: string | null;
        createdAt: string;
        updatedAt: string | null;
        lastReadAt: string | null;
        content: string;
      };
      blame?: readonly ({
        startLine: number;
        endLine: number;
        revisionId: string | null;
        version: number | null;
        actor: string | null;
        reason: string | null;
        tool: string | null;
        toolCallId: string | null;
        at: string | null;
        redacted?: boolean;
        putBackBy?: {
          revisionId: string;
          version: number;
          actor: string;
          at: string;
        };
        before: string | null;
        afterReading?: readonly ({
          path: string;
          revisionId: string | null;
          probably: boolean;
        })[] | null;
      })[];
      expired?: readonly ({
        startLine: number;
        endLine: number;
        validUntil: string;
      })[];
      blameEnd?: number | null;
    };
  };
  /** List the freezes in force. */
  'GET /v1/admin/freezes': {
    request: object;
    result: {
      items: readonly ({
        id: string;
        userId: string | null;
        spaceId: string | null;
        actor: string | null;
        keyId: string | null;
        all: boolean;
        reason: string;
        at: string;
        until: string;
        address: string | null;
      })[];
    };
  };
  /** List the keys. */
  'GET /v1/admin/keys': {
    request: object;
    result: {
      items: readonly ({
        id: string;
        name: string;
        createdAt: string;
        createdBy: string | null;
        expiresAt: string | null;
        lastUsedAt: string | null;
        previousUntil: string | null;
        users: readonly (string)[] | null;
        spaces: readonly (string)[];
        tools: readonly (string)[] | null;
        rateLimit: number | null;
        actor: string | null;
        manage: boolean;
      })[];
    };
  };
  /** Read who you are. */
  'GET /v1/admin/me': {
    request: object;
    result: {
      name: string;
      role: "viewer" | "operator" | "admin";
      contents: boolean;
    };
  };
  /** Read what you may do. */
  'GET /v1/admin/me/rights': {
    request: object;
    result: {
      operator: {
        name: string;
        role: "viewer" | "operator" | "admin";
        contents: boolean;
      };
      routes: readonly ({
        method: string;
        path: string;
        summary: string;
        role: "viewer" | "contents" | "operator" | "admin";
        allowed: boolean;
      })[];
    };
  };
  /** Read what the exam says of the models. */
  'GET /v1/admin/model/exam': {
    request: object;
    result: {
      exam: {
        parts: readonly ({
          part: "files" | "judges";
          provider: string;
          address: string | null;
          model: string;
          promptsVersion: string;
          form: "full" | "short";
          passed: boolean;
          score: number;
          of: number;
          failed: readonly (string)[];
          seconds: number;
          inputTokens: number;
          outputTokens: number;
          at: string;
        })[];
        expect: readonly (string)[];
      };
      job: {
        state: "running" | "completed" | "failed";
        done: number;
        total: number;
        result: {
          parts: readonly ({
            part: "files" | "judges";
            provider: string;
            address: string | null;
            model: string;
            promptsVersion: string;
            form: "full" | "short";
            passed: boolean;
            score: number;
            of: number;
            failed: readonly (string)[];
            seconds: number;
            inputTokens: number;
            outputTokens: number;
            at: string;
          })[];
          expect: readonly (string)[];
        } | null;
        error: string | null;
      } | null;
    };
  };
  /** Read the activity over time. */
  'GET /v1/admin/observability/activity': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      bucket?: "1m" | "5m" | "1h" | "1d";
      timeZone?: string;
    } };
    result: {
      since: string;
      until: string;
      bucket: "1m" | "5m" | "1h" | "1d";
      points: readonly ({
        at: string;
        calls: number;
        failed: number;
        refused: number;
        reads: number;
        writes: number;
        finds: number;
      })[];
    };
  };
  /** List observation events. */
  'GET /v1/admin/observability/events': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      kind?: "tool" | "dream.run" | "check.run";
      status?: "ok" | "error";
      actor?: string;
      errorCode?: string;
      spans?: boolean;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        traceId: string;
        spanId: string;
        parentSpanId: string | null;
        toolCallId: string;
        callerToolCallId: string | null;
        kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
        name: string;
        userId: string | null;
        spaceId: string | null;
        tool: string | null;
        actor: string;
        key: string | null;
        status: "ok" | "error";
        errorCode: string | null;
        startedAt: string;
        durationMs: number;
        attributes: Record<string, string | number | boolean>;
        spans?: readonly ({
          id: string;
          traceId: string;
          spanId: string;
          parentSpanId: string | null;
          toolCallId: string;
          callerToolCallId: string | null;
          kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
          name: string;
          userId: string | null;
          spaceId: string | null;
          tool: string | null;
          actor: string;
          key: string | null;
          status: "ok" | "error";
          errorCode: string | null;
          startedAt: string;
          durationMs: number;
          attributes: Record<string, string | number | boolean>;
        })[];
      })[];
      nextCursor: string | null;
    };
  };
  /** Watch observation events. */
  'GET /v1/admin/observability/events/stream': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
    } };
    result: Readable;
  };
  /** List failed and slow calls. */
  'GET /v1/admin/observability/failures': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      reason?: "failed" | "refused" | "slow";
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        traceId: string;
        spanId: string;
        parentSpanId: string | null;
        toolCallId: string;
        callerToolCallId: string | null;
        kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
        name: string;
        userId: string | null;
        spaceId: string | null;
        tool: string | null;
        actor: string;
        key: string | null;
        status: "ok" | "error";
        errorCode: string | null;
        startedAt: string;
        durationMs: number;
        attributes: Record<string, string | number | boolean>;
        reasons: readonly ("failed" | "refused" | "slow")[];
      })[];
      nextCursor: string | null;
    };
  };
  /** Check the memory of a user or a space. */
  'GET /v1/admin/observability/hygiene': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
    } };
    result: {
      userId: string | null;
      spaceId: string | null;
      at: string;
      filesChecked: number;
      files: number;
      counts: Record<string, number>;
      severities: {
        high: number;
        medium: number;
        low: number;
      };
      findings: readonly ({
        kind: "stale_catalog" | "missing_from_catalog" | "broken_link" | "duplicate_line" | "similar_line" | "contradiction" | "oversized" | "never_read" | "secret" | "personal" | "forget_requested" | "expired" | "unreadable_end";
        severity: "low" | "medium" | "high";
        message: string;
        places: readonly ({
          path: string;
          lines: readonly (number)[];
        })[];
        mend: string;
        request?: {
          toolCallId: string;
          revisions: readonly ({
            id: string;
            lines: readonly (number)[];
          })[];
        };
      })[];
      omitted: number;
    };
  };
  /** Count the findings in the memory of each space. */
  'GET /v1/admin/observability/hygiene/spaces': {
    request: { query?: {
      q?: string;
      limit?: number;
      cursor?: string;
    } };
    result: {
      items: readonly ({
        userId: string | null;
        spaceId: string | null;
        filesChecked: number;
        files: number;
        counts: Record<string, number>;
        severities: {
          high: number;
          medium: number;
          low: number;
        };
      })[];
      nextCursor: string | null;
    };
  };
  /** Count the findings in the memory of each user. */
  'GET /v1/admin/observability/hygiene/users': {
    request: { query?: {
      q?: string;
      limit?: number;
      cursor?: string;
    } };
    result: {
      items: readonly ({
        userId: string | null;
        spaceId: string | null;
        filesChecked: number;
        files: number;
        counts: Record<string, number>;
        severities: {
          high: number;
          medium: number;
          low: number;
        };
      })[];
      nextCursor: string | null;
    };
  };
  /** List who read a content. */
  'GET /v1/admin/observability/influence': {
    request: { query?: {
      revisionId?: string;
      path?: string;
      version?: number;
      line?: number;
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      revision: {
        id: string;
        path: string;
        userId: string | null;
        spaceId: string | null;
        version: number;
        action: "create" | "update" | "delete" | "move" | "revert" | "redact";
        actor: string;
        operator: string | null;
        reason: string | null;
        tool: string | null;
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        at: string;
        size: number;
        addedLines: number;
        removedLines: number;
        peerId: string | null;
        reverts: string | null;
        merged: boolean;
        redacted: boolean;
        redactedBefore: boolean;
        redactionId: string | null;
      } | null;
      line: {
        path: string;
        version: number;
        line: number;
        text: string;
        complete: boolean;
      } | null;
      items: readonly ({
        id: string;
        at: string;
        userId: string | null;
        spaceId: string | null;
        path: string;
        actor: string;
        key: string | null;
        tool: string | null;
        action: "read" | "write" | "list" | "find" | "context";
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        revisionId: string | null;
        version: number | null;
        lines: readonly ({
          startLine: number;
          endLine: number;
        })[] | null;
        rank: number | null;
        outcome: "ok" | "denied" | "not_found" | "error";
        line: number | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read the latency over time. */
  'GET /v1/admin/observability/latency': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      bucket?: "1m" | "5m" | "1h" | "1d";
      timeZone?: string;
    } };
    result: {
      since: string;
      until: string;
      bucket: "1m" | "5m" | "1h" | "1d";
      relativeError: number;
      tools: readonly ({
        tool: string | null;
        points: readonly ({
          at: string;
          calls: number;
          p50: number;
          p95: number;
          p99: number;
        })[];
      })[];
    };
  };
  /** Read the summary of tool calls. */
  'GET /v1/admin/observability/summary': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
    } };
    result: {
      since: string;
      until: string;
      calls: number;
      failed: number;
      refused: number;
      errorRate: number;
      latency: {
        p50: number | null;
        p95: number | null;
        p99: number | null;
        relativeError: number;
      };
      activeScopes: number;
      reads: number;
      writes: number;
      finds: number;
      readWriteRatio: number | null;
      sla: {
        state: "ok" | "watch" | "breached";
        reason: string;
        limits: {
          p95Ms: number;
          errorRate: number;
          slowCallMs: number;
          minCalls: number;
        };
      };
    };
  };
  /** Read a tool call. */
  'GET /v1/admin/observability/tool-calls/:toolCallId': {
    request: { params: { toolCallId: string } };
    result: {
      traceId: string;
      toolCallId: string;
      root: {
        id: string;
        traceId: string;
        spanId: string;
        parentSpanId: string | null;
        toolCallId: string;
        callerToolCallId: string | null;
        kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
        name: string;
        userId: string | null;
        spaceId: string | null;
        tool: string | null;
        actor: string;
        key: string | null;
        status: "ok" | "error";
        errorCode: string | null;
        startedAt: string;
        durationMs: number;
        attributes: Record<string, string | number | boolean>;
      };
      spans: readonly ({
        id: string;
        traceId: string;
        spanId: string;
        parentSpanId: string | null;
        toolCallId: string;
        callerToolCallId: string | null;
        kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
        name: string;
        userId: string | null;
        spaceId: string | null;
        tool: string | null;
        actor: string;
        key: string | null;
        status: "ok" | "error";
        errorCode: string | null;
        startedAt: string;
        durationMs: number;
        attributes: Record<string, string | number | boolean>;
      })[];
      accesses: readonly ({
        id: string;
        at: string;
        userId: string | null;
        spaceId: string | null;
        path: string;
        actor: string;
        key: string | null;
        tool: string | null;
        action: "read" | "write" | "list" | "find" | "context";
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        revisionId: string | null;
        version: number | null;
        lines: readonly ({
          startLine: number;
          endLine: number;
        })[] | null;
        rank: number | null;
        outcome: "ok" | "denied" | "not_found" | "error";
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        userId: string | null;
        spaceId: string | null;
        version: number;
        action: "create" | "update" | "delete" | "move" | "revert" | "redact";
        actor: string;
        operator: string | null;
        reason: string | null;
        tool: string | null;
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        at: string;
        size: number;
        addedLines: number;
        removedLines: number;
        peerId: string | null;
        reverts: string | null;
        merged: boolean;
        redacted: boolean;
        redactedBefore: boolean;
        redactionId: string | null;
      })[];
      shown: readonly ({
        accessId: string;
        path: string;
        action: "read" | "write" | "list" | "find" | "context";
        revisionId: string | null;
        version: number | null;
        lines: readonly ({
          startLine: number;
          endLine: number;
          content: string | null;
        })[] | null;
      })[];
    };
  };
  /** List the most accessed files. */
  'GET /v1/admin/observability/top-files': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      complete?: boolean;
      limit?: number;
    } };
    result: {
      since: string;
      until: string;
      countedFrom: string | null;
      items: readonly ({
        path: string;
        userId: string | null;
        spaceId: string | null;
        accesses: number;
        reads: number;
        writes: number;
        finds: number;
        lastAt: string;
      })[];
    };
  };
  /** Read the topology of memory. */
  'GET /v1/admin/observability/topology': {
    request: { query?: {
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      tool?: string;
      complete?: boolean;
    } };
    result: {
      since: string;
      until: string;
      countedFrom: string | null;
      nodes: readonly ({
        id: string;
        kind: "scope" | "actor" | "tool" | "file";
        label: string;
        weight: number;
      })[];
      edges: readonly ({
        from: string;
        to: string;
        weight: number;
      })[];
      omitted: number;
    };
  };
  /** Read a trace. */
  'GET /v1/admin/observability/traces/:traceId': {
    request: { params: { traceId: string } };
    result: {
      traceId: string;
      calls: readonly ({
        traceId: string;
        toolCallId: string;
        root: {
          id: string;
          traceId: string;
          spanId: string;
          parentSpanId: string | null;
          toolCallId: string;
          callerToolCallId: string | null;
          kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
          name: string;
          userId: string | null;
          spaceId: string | null;
          tool: string | null;
          actor: string;
          key: string | null;
          status: "ok" | "error";
          errorCode: string | null;
          startedAt: string;
          durationMs: number;
          attributes: Record<string, string | number | boolean>;
        };
        spans: readonly ({
          id: string;
          traceId: string;
          spanId: string;
          parentSpanId: string | null;
          toolCallId: string;
          callerToolCallId: string | null;
          kind: "tool" | "db.read" | "db.write" | "search.bm25" | "search.vector" | "search.hybrid" | "embedding" | "llm" | "revision.write" | "access_log.write" | "dream.run" | "dream.check" | "check.run";
          name: string;
          userId: string | null;
          spaceId: string | null;
          tool: string | null;
          actor: string;
          key: string | null;
          status: "ok" | "error";
          errorCode: string | null;
          startedAt: string;
          durationMs: number;
          attributes: Record<string, string | number | boolean>;
        })[];
        accesses: readonly ({
          id: string;
          at: string;
          userId: string | null;
          spaceId: string | null;
          path: string;
          actor: string;
          key: string | null;
          tool: string | null;
          action: "read" | "write" | "list" | "find" | "context";
          toolCallId: string | null;
          traceId: string | null;
          runId: string | null;
          revisionId: string | null;
          version: number | null;
          lines: readonly ({
            startLine: number;
            endLine: number;
          })[] | null;
          rank: number | null;
          outcome: "ok" | "denied" | "not_found" | "error";
        })[];
        revisions: readonly ({
          id: string;
          path: string;
          userId: string | null;
          spaceId: string | null;
          version: number;
          action: "create" | "update" | "delete" | "move" | "revert" | "redact";
          actor: string;
          operator: string | null;
          reason: string | null;
          tool: string | null;
          toolCallId: string | null;
          traceId: string | null;
          runId: string | null;
          at: string;
          size: number;
          addedLines: number;
          removedLines: number;
          peerId: string | null;
          reverts: string | null;
          merged: boolean;
          redacted: boolean;
          redactedBefore: boolean;
          redactionId: string | null;
        })[];
      })[];
    };
  };
  /** Count who used memory, and the tokens that it took. */
  'GET /v1/admin/observability/usage': {
    request: { query?: {
      since?: string;
      until?: string;
      complete?: boolean;
    } };
    result: {
      since: string;
      until: string;
      countedFrom: string | null;
      totals: {
        calls: number;
        writes: number;
        reads: number;
        finds: number;
        inputTokens: number;
        outputTokens: number;
      };
      owners: readonly ({
        userId: string | null;
        spaceId: string | null;
        calls: number;
        writes: number;
        reads: number;
        finds: number;
        inputTokens: number;
        outputTokens: number;
      })[];
      keys: readonly ({
        key: string | null;
        calls: number;
        writes: number;
        reads: number;
        finds: number;
        inputTokens: number;
        outputTokens: number;
      })[];
      actors: readonly ({
        actor: string;
        calls: number;
        writes: number;
        reads: number;
        finds: number;
        inputTokens: number;
        outputTokens: number;
      })[];
      models: readonly ({
        provider: string;
        model: string;
        kind: "llm" | "embedding";
        calls: number;
        inputTokens: number;
        outputTokens: number;
      })[];
      others: number;
    };
  };
  /** List the operators. */
  'GET /v1/admin/operators': {
    request: object;
    result: {
      items: readonly ({
        id: string;
        name: string;
        createdAt: string;
        createdBy: string | null;
        expiresAt: string | null;
        lastUsedAt: string | null;
        previousUntil: string | null;
        role: "viewer" | "operator" | "admin";
        contents: boolean;
      })[];
      proxy: {
        header: string;
        roles: readonly ({
          pattern: string;
          role: "viewer" | "operator" | "admin";
          contents: boolean;
        })[];
      } | null;
    };
  };
  /** List the tools of the Playground. */
  'GET /v1/admin/playground': {
    request: object;
    result: {
      tools: readonly ({
        name: string;
        title: string;
        description: string;
        inputSchema: Record<string, unknown>;
        outputSchema: Record<string, unknown>;
        requiresModel: boolean;
        readOnly: boolean;
        destructive: boolean;
        idempotent: boolean;
        available: boolean;
      })[];
    };
  };
  /** Read what the last round removed. */
  'GET /v1/admin/retention': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        dryRun: boolean;
        prefix: string | null;
        counts: {
          events: number;
          access: number;
          idempotency: number;
          revisions: number;
          bytes: number;
          dreams: number;
        } | null;
      } | null;
      error: string | null;
    } | null;
  };
  /** List revisions. */
  'GET /v1/admin/revisions': {
    request: { query?: {
      path?: string;
      prefix?: string;
      q?: string;
      userId?: string;
      spaceId?: string;
      shared?: boolean;
      actor?: string;
      action?: "create" | "update" | "delete" | "move" | "revert" | "redact";
      runId?: string;
      traceId?: string;
      toolCallId?: string;
      since?: string;
      until?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        id: string;
        path: string;
        userId: string | null;
        spaceId: string | null;
        version: number;
        action: "create" | "update" | "delete" | "move" | "revert" | "redact";
        actor: string;
        operator: string | null;
        reason: string | null;
        tool: string | null;
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        at: string;
        size: number;
        addedLines: number;
        removedLines: number;
        peerId: string | null;
        reverts: string | null;
        merged: boolean;
        redacted: boolean;
        redactedBefore: boolean;
        redactionId: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read a revision. */
  'GET /v1/admin/revisions/:id': {
    request: { params: { id: string } };
    result: {
      id: string;
      path: string;
      userId: string | null;
      spaceId: string | null;
      version: number;
      action: "create" | "update" | "delete" | "move" | "revert" | "redact";
      actor: string;
      operator: string | null;
      reason: string | null;
      tool: string | null;
      toolCallId: string | null;
      traceId: string | null;
      runId: string | null;
      at: string;
      size: number;
      addedLines: number;
      removedLines: number;
      peerId: string | null;
      reverts: string | null;
      merged: boolean;
      redacted: boolean;
      redactedBefore: boolean;
      redactionId: string | null;
      contentBefore: string | null;
      contentAfter: string | null;
      afterReading: readonly ({
        path: string;
        revisionId: string | null;
        probably: boolean;
      })[];
      diff: string;
      hash: string | null;
      previousHash: string | null;
    };
  };
  /** Count the values that revisions can be filtered by. */
  'GET /v1/admin/revisions/values': {
    request: { query?: {
      path?: string;
      prefix?: string;
      q?: string;
      userId?: string;
      spaceId?: string;
      shared?: boolean;
      actor?: string;
      action?: "create" | "update" | "delete" | "move" | "revert" | "redact";
      runId?: string;
      traceId?: string;
      toolCallId?: string;
      since?: string;
      until?: string;
    } };
    result: {
      rows: number;
      from: string | null;
      fields: readonly ({
        field: string;
        values: readonly ({
          value: string;
          count: number;
        })[];
        others: number;
      })[];
      without: readonly ({
        filter: string;
        rows: number;
        isMore: boolean;
      })[];
    };
  };
  /** Search the contents of memory files. */
  'GET /v1/admin/search': {
    request: { query: {
      q: string;
      userId?: string;
      spaceId?: string;
      limit?: number;
      cursor?: string;
    } };
    result: {
      items: readonly ({
        path: string;
        userId: string | null;
        spaceId: string | null;
        version: number;
        updatedAt: string;
        matches: number;
        lines: readonly ({
          line: number;
          text: string;
        })[];
        score: number;
        words: readonly (string)[];
      })[];
      nextCursor: string | null;
      searched: {
        files: number;
        bytes: number;
      };
    };
  };
  /** List spaces. */
  'GET /v1/admin/spaces': {
    request: { query?: {
      q?: string;
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        spaceId: string;
        name: string | null;
        description: string | null;
        metadata: Record<string, string>;
        quota: number | null;
        dream: boolean;
        exclusivePaths: boolean;
        createdAt: string;
        updatedAt: string;
        archivedAt: string | null;
        version: number;
        files: number;
        bytes: number;
        revisions: number;
        reads: number;
        lastReadAt: string | null;
        lastShownAt: string | null;
        lastWriteAt: string | null;
        historyHash: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Show a space. */
  'GET /v1/admin/spaces/:id': {
    request: { params: { id: string } };
    result: {
      spaceId: string;
      name: string | null;
      description: string | null;
      metadata: Record<string, string>;
      quota: number | null;
      dream: boolean;
      exclusivePaths: boolean;
      createdAt: string;
      updatedAt: string;
      archivedAt: string | null;
      version: number;
      files: number;
      bytes: number;
      revisions: number;
      reads: number;
      lastReadAt: string | null;
      lastShownAt: string | null;
      lastWriteAt: string | null;
      historyHash: string | null;
    };
  };
  /** Read the status of the service. */
  'GET /v1/admin/status': {
    request: object;
    result: {
      version: string;
      node: string;
      state: string;
      startedAt: string;
      uptimeMs: number;
      storage: {
        name: string;
        driver: string;
        version: string;
        schemaVersion: number;
        settings: Record<string, string | number | boolean>;
      };
      writes: {
        status: "ok" | "failing";
        code: string | null;
      };
      model: {
        configured: boolean;
        name: string | null;
        hint: string | null;
        answers: boolean | null;
        problem: string | null;
        at: string | null;
      };
      verifier: {
        configured: boolean;
        name: string | null;
        hint: string | null;
        answers: boolean | null;
        problem: string | null;
        at: string | null;
      };
      modelExam: {
        files: boolean | null;
        judges: boolean | null;
        text: string | null;
      };
      embedder: {
        configured: boolean;
        name: string | null;
        hint: string | null;
        answers: boolean | null;
        problem: string | null;
        at: string | null;
        progress: {
          state: "starting" | "embedding" | "paused" | "idle";
          dimensions: number;
          filesWaiting: number;
          textsWaiting: number;
          textsEmbedded: number;
          failures: number;
          lastFailure: string | null;
          lastFailureReason: string | null;
        } | null;
      };
      exporters: {
        configured: boolean;
        names: readonly (string)[];
        hint: string | null;
        items: readonly ({
          name: string;
          problem: string | null;
          spans: {
            queued: number;
            exported: number;
            dropped: number;
            failed: number;
          } | null;
        })[];
      };
      scheduler: {
        configured: boolean;
        hint: string | null;
      };
      dreaming: {
        operationsWaiting: number;
        tokensToday: number;
      };
      holds: readonly ({
        userId: string | null;
        spaceId: string | null;
        kind: "restore" | "erase";
        progressAt: string;
        isStalled: boolean;
      })[];
      freezes: readonly ({
        id: string;
        userId: string | null;
        spaceId: string | null;
        actor: string | null;
        keyId: string | null;
        all: boolean;
        reason: string;
        at: string;
        until: string;
        address: string | null;
      })[];
      redactions: readonly ({
        id: string;
        in: "file" | "user" | "everywhere";
        path: string | null;
        userId: string | null;
        spaceId: string | null;
        startedAt: string;
        reason: string;
      })[];
      databaseFile: {
        state: "clean" | "pending" | "rewriting";
        receipts: number;
        since: string | null;
        until: string | null;
        bytes: number;
        rewrittenBytes: number;
        lastFailure: string | null;
        rewrittenAt: string | null;
        copies: readonly ({
          name: string;
          bytes: number;
          removed: boolean;
        })[];
      } | null;
      toolsApi: {
        configured: boolean;
        hint: string | null;
      };
      tools: readonly ({
        name: string;
        available: boolean;
      })[];
      limits: {
        maxFileBytes: number;
        maxBodyBytes: number;
        maxFilesPerUser: number;
      };
      sharedWrites: boolean;
      rateLimit: number;
      index: {
        filesBehind: number;
        reindex: {
          state: "running" | "completed" | "failed";
          done: number;
          files: number;
        } | null;
      };
      accessLog: {
        days: number;
        recommendedDays: number;
        rows: number;
        bytes: number;
        bytesAMonth: number;
      };
      queues: {
        accessQueued: number;
        eventsQueued: number;
        eventsDropped: number;
      };
    };
  };
  /** List user scopes. */
  'GET /v1/admin/users': {
    request: { query?: {
      q?: string;
      userId?: string;
      notShownSince?: string;
      existsSince?: string;
      sort?: "userId" | "files" | "bytes" | "lastReadAt" | "lastShownAt" | "lastWriteAt" | "readsPerWrite";
      limit?: number;
      cursor?: string;
      order?: "asc" | "desc";
    } };
    result: {
      items: readonly ({
        userId: string;
        files: number;
        bytes: number;
        revisions: number;
        reads: number;
        lastReadAt: string | null;
        lastShownAt: string | null;
        lastWriteAt: string | null;
        historyHash: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read how far the rewriting is. */
  'GET /v1/admin/vacuum': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        before: number;
        bytes: number;
      } | null;
      error: string | null;
    } | null;
  };
  /** Read how far the verification is, and what it found. */
  'GET /v1/admin/verify': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        scopes: number;
        files: number;
        revisions: number;
        unchained: number;
        chainedSince: string | null;
        uncovered: number;
        coveredSince: string | null;
        findings: readonly ({
          invariant: "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I8" | "chain" | "whole" | "storage";
          path: string | null;
          message: string;
        })[];
        found: number;
      } | null;
      error: string | null;
    } | null;
  };
  /** Copy the database beside itself. */
  'POST /v1/admin/backup': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        file: string;
        bytes: number;
      } | null;
      error: string | null;
    };
  };
  /** Ask questions to measure what finds give. */
  'POST /v1/admin/checks/ask': {
    request: { body: {
      questions: readonly ({
        user: string;
        query: string;
      })[];
    } };
    result: {
      answers: readonly (readonly (string)[])[];
    };
  };
  /** Find the write that made a check fail. */
  'POST /v1/admin/checks/bisect': {
    request: { body?: {
      name?: string;
      check?: Record<string, unknown>;
    } };
    result: {
      name: string;
      outcome: "found" | "passes" | "time" | "unknown";
      why: string;
      path: string | null;
      at: string | null;
      before: string | null;
      revisions: readonly ({
        id: string;
        path: string;
        userId: string | null;
        spaceId: string | null;
        version: number;
        action: "create" | "update" | "delete" | "move" | "revert" | "redact";
        actor: string;
        operator: string | null;
        reason: string | null;
        tool: string | null;
        toolCallId: string | null;
        traceId: string | null;
        runId: string | null;
        at: string;
        size: number;
        addedLines: number;
        removedLines: number;
        peerId: string | null;
        reverts: string | null;
        merged: boolean;
        redacted: boolean;
        redactedBefore: boolean;
        redactionId: string | null;
      })[];
      tries: number;
    };
  };
  /** Run checks on memory. */
  'POST /v1/admin/checks/run': {
    request: { body?: {
      checks?: readonly (Record<string, unknown>)[];
      progressId?: string;
    } };
    result: {
      at: string;
      passed: number;
      failed: number;
      results: readonly ({
        name: string;
        passed: boolean;
        why?: string;
        near?: string;
        rank?: number | null;
        places?: readonly ({
          path: string;
          lines: readonly (number)[];
        })[];
        more?: number;
      })[];
    } | {
      id: string;
      origin: "hand" | "nightly" | "embedder";
      at: string;
      tookMs: number;
      version: number;
      passed: number;
      failed: number;
      embedder: string | null;
      results: readonly ({
        name: string;
        passed: boolean;
        why?: string;
        near?: string;
        rank?: number | null;
        places?: readonly ({
          path: string;
          lines: readonly (number)[];
        })[];
        more?: number;
      })[];
      against: string | null;
      changes: readonly ({
        name: string;
        isBetter: boolean;
        turned: "red" | "green" | null;
        what: string;
      })[];
    };
  };
  /** Apply operations of a dream run. */
  'POST /v1/admin/dream/runs/:id/apply': {
    request: { params: { id: string }; body?: {
      operations?: readonly (number)[];
      paths?: readonly (string)[];
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
      decided: readonly ({
        number: number;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        why: string | null;
      })[];
    };
  };
  /** Cancel a dream run. */
  'POST /v1/admin/dream/runs/:id/cancel': {
    request: { params: { id: string }; body?: {
      paths?: readonly (string)[];
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
    };
  };
  /** Reject operations of a dream run. */
  'POST /v1/admin/dream/runs/:id/reject': {
    request: { params: { id: string }; body?: {
      operations?: readonly (number)[];
      paths?: readonly (string)[];
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
      decided: readonly ({
        number: number;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        why: string | null;
      })[];
    };
  };
  /** Undo a dream run. */
  'POST /v1/admin/dream/runs/:id/revert': {
    request: { params: { id: string }; body?: {
      onConflict?: "skip" | "leave" | "force";
      resolutions?: readonly ({
        path: string;
        version: number;
        startLine: number;
        take: "restored" | "theirs" | "both";
      })[];
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
      reverted: readonly ({
        path: string;
        version: number;
        revisionId: string | null;
        why: string | null;
      })[];
      left: readonly ({
        path: string;
        outcome: "reverted" | "merged" | "conflict" | "unchanged" | "gone" | "refused" | "changed_since";
        why: string;
      })[];
    };
  };
  /** Dream of a space now. */
  'POST /v1/admin/dream/spaces/:spaceId/run': {
    request: { params: { spaceId: string }; body?: {
      dryRun?: boolean;
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
    };
  };
  /** Dream of a user now. */
  'POST /v1/admin/dream/users/:userId/run': {
    request: { params: { userId: string }; body?: {
      dryRun?: boolean;
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      origin: "schedule" | "manual";
      dryRun: boolean;
      mode: "auto" | "review";
      state: "queued" | "running" | "completed" | "failed" | "canceled";
      outcome: "applied" | "waiting" | "no_op" | "partial" | "rejected" | "reverted" | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      filesRead: number;
      filesTouched: number;
      writes: number;
      operationsApplied: number;
      operationsWaiting: number;
      operationsDropped: number;
      inputTokens: number;
      outputTokens: number;
      model: string | null;
      promptVersion: string | null;
      error: {
        code: string;
        message: string;
      } | null;
      operations: readonly ({
        number: number;
        kind: "merge" | "supersede" | "reword" | "move" | "index";
        reason: string;
        paths: readonly (string)[];
        remove: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        add: {
          path: string;
          heading: string | null;
          lines: readonly (string)[];
        } | null;
        sources: readonly ({
          path: string;
          line: number | null;
          heading: string | null;
          text: string;
          at: string | null;
        })[];
        class: "certain" | "meaning";
        signals: readonly ("specific_lost" | "specific_added" | "negation" | "modality" | "conflict" | "sensitive" | "other_subject" | "task" | "older_source")[];
        repaired: readonly ("fact" | "path" | "heading" | "bullet" | "quote" | "line" | "source" | "space" | "beside")[];
        verdict: "keeps" | "replaces" | "loses" | "adds" | "wrong" | "unsure" | null;
        status: "applied" | "waiting" | "dropped" | "rejected" | "stale" | "reverted";
        guard: string | null;
        why: string | null;
        checks: readonly (string)[];
        preselected: boolean;
        applicable: boolean;
      })[];
      malformedOperations: number;
      repeatedOperations: number;
      verifier: string | null;
      traceId: string | null;
      files: readonly ({
        path: string;
        status: "applied" | "reverted";
        version: number;
        diff: string | null;
      })[];
      leftOut: readonly (string)[];
      shownInParts: readonly ({
        path: string;
        fromLine: number;
        toLine: number;
      })[];
      revisions: readonly ({
        id: string;
        path: string;
        version: number;
        action: string;
        at: string;
      })[];
    };
  };
  /** Erase the users and spaces whose ids start alike. */
  'POST /v1/admin/erase': {
    request: { body: {
      prefix: string;
      dryRun?: boolean;
      confirm?: {
        prefix: string;
        users: number;
        spaces: number;
      };
      removeCopies?: boolean;
      limit?: number;
      cursor?: string;
    } };
    result: {
      prefix: string;
      dryRun: boolean;
      users: number;
      spaces: number;
      matches: readonly ({
        userId: string | null;
        spaceId: string | null;
        tables: Record<string, number>;
      })[];
      receipts: readonly ({
        dryRun: boolean;
        userId: string | null;
        spaceId: string | null;
        erasedAt: string | null;
        erasedBefore: string | null;
        tables: Record<string, number>;
        auditRows: number;
        left: Record<string, number>;
        chainHead: string | null;
        readers: readonly ({
          path: string;
          revisionId: string;
          probably: boolean;
        })[];
        readersComplete: boolean;
        spaces: readonly (string)[];
        keeps: readonly (string)[];
        pending: readonly (string)[];
        copies: readonly ({
          name: string;
          bytes: number;
          removed: boolean;
        })[];
        mayRemain: readonly (string)[];
      })[];
      progress: {
        done: number;
      };
      nextCursor: string | null;
    };
  };
  /** Explain why a find has a file or not. */
  'POST /v1/admin/find/why': {
    request: { body: {
      context: {
        userId: string;
        actor?: string | null;
        spaces?: readonly ({
          id: string;
          access: "read" | "write";
        })[] | null;
        toolCallId?: string | null;
        timeZone?: string | null;
      };
      arguments: {
        query: string;
        path?: string;
        limit?: number;
        group?: "file" | "passage";
        mode?: "auto" | "text" | "hybrid";
        since?: string;
        until?: string;
        sort?: "relevance" | "newest";
        asOf?: string;
        includeExpired?: boolean;
        explain?: boolean;
      };
      path: string;
    } };
    result: {
      path: string;
      found: boolean;
      reason: "absent" | "other_memory" | "path" | "words" | "expired" | "time" | "limit" | "depth" | null;
      rank: number | null;
      limit: number;
      score: number | null;
      leastScore: number | null;
      mode: "text" | "hybrid" | null;
      signals: Record<string, number> | null;
      words: readonly ({
        word: string;
        inFile: boolean;
      })[];
      waitsForIndex: boolean;
      expired: readonly ({
        startLine: number;
        endLine: number;
        validUntil: string;
      })[];
    };
  };
  /** Stop writes for a while. */
  'POST /v1/admin/freeze': {
    request: { body: {
      userId?: string;
      spaceId?: string;
      actor?: string;
      keyId?: string;
      all?: true;
      reason: string;
      minutes: number;
    } };
    result: {
      id: string;
      userId: string | null;
      spaceId: string | null;
      actor: string | null;
      keyId: string | null;
      all: boolean;
      reason: string;
      at: string;
      until: string;
      address: string | null;
    };
  };
  /** Import memory. */
  'POST /v1/admin/import': {
    request: { query?: {
      from?: "archive" | "markdown" | "mem0" | "letta" | "server-memory" | "basic-memory" | "memory-stores";
      userId?: string;
      onExisting?: "refuse" | "skip" | "new_versions";
      dryRun?: boolean;
    }; stream: AsyncIterable<Uint8Array> };
    result: Readable;
  };
  /** Make a key. */
  'POST /v1/admin/keys': {
    request: { body: {
      name: string;
      users?: readonly (string)[] | null;
      spaces?: readonly (string)[] | null;
      tools?: readonly (string)[] | null;
      rateLimit?: number | null;
      actor?: string | null;
      manage?: boolean | null;
      expiresAt?: string | null;
    } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      users: readonly (string)[] | null;
      spaces: readonly (string)[];
      tools: readonly (string)[] | null;
      rateLimit: number | null;
      actor: string | null;
      manage: boolean;
      key: string;
    };
  };
  /** Rotate a key. */
  'POST /v1/admin/keys/:id/rotate': {
    request: { params: { id: string }; body?: {
      overlapMinutes?: number;
    } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      users: readonly (string)[] | null;
      spaces: readonly (string)[];
      tools: readonly (string)[] | null;
      rateLimit: number | null;
      actor: string | null;
      manage: boolean;
      key: string;
    };
  };
  /** Examine the models. */
  'POST /v1/admin/model/exam': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        parts: readonly ({
          part: "files" | "judges";
          provider: string;
          address: string | null;
          model: string;
          promptsVersion: string;
          form: "full" | "short";
          passed: boolean;
          score: number;
          of: number;
          failed: readonly (string)[];
          seconds: number;
          inputTokens: number;
          outputTokens: number;
          at: string;
        })[];
        expect: readonly (string)[];
      } | null;
      error: string | null;
    };
  };
  /** Make an operator. */
  'POST /v1/admin/operators': {
    request: { body: {
      name: string;
      role: "viewer" | "operator" | "admin";
      contents?: boolean;
    } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      role: "viewer" | "operator" | "admin";
      contents: boolean;
      token: string;
    };
  };
  /** Rotate the token of an operator. */
  'POST /v1/admin/operators/:id/rotate': {
    request: { params: { id: string }; body?: {
      overlapMinutes?: number;
    } };
    result: {
      id: string;
      name: string;
      createdAt: string;
      createdBy: string | null;
      expiresAt: string | null;
      lastUsedAt: string | null;
      previousUntil: string | null;
      role: "viewer" | "operator" | "admin";
      contents: boolean;
      token: string;
    };
  };
  /** Run a tool from the Playground. */
  'POST /v1/admin/playground/:name': {
    request: { params: { name: string }; body?: Record<string, unknown> };
    result: {
      result: unknown;
      traceId: string;
      toolCallId: string;
      durationMs: number;
    } | {
      valid: boolean;
    };
  };
  /** Redact a text everywhere. */
  'POST /v1/admin/redact': {
    request: { body: {
      text?: string;
      revisionId?: string;
      lines?: string;
      in?: "file" | "user" | "everywhere";
      path?: string;
      userId?: string;
      spaceId?: string;
      replacement?: string;
      reason: string;
      dryRun?: boolean;
      removeCopies?: boolean;
      cursor?: string;
    } };
    result: {
      dryRun: boolean;
      id: string | null;
      files: readonly ({
        path: string;
        userId: string | null;
        spaceId: string | null;
        versions: number;
        fromVersion: number;
        toVersion: number;
        current: boolean;
        version: number | null;
        lines: readonly ({
          version: number;
          line: number;
          text: string;
        })[];
      })[];
      records: {
        reasons: number;
        runs: number;
        events: number;
        answers: number;
        audit: number;
        notes: number;
      };
      left: {
        paths: readonly (string)[];
        userIds: readonly (string)[];
        spaces: readonly (string)[];
        actors: readonly (string)[];
        operators: readonly (string)[];
        keys: readonly (string)[];
        settings: readonly (string)[];
        audit: readonly (string)[];
      };
      readers: readonly ({
        path: string;
        revisionId: string;
        probably: boolean;
      })[];
      readersComplete: boolean;
      pending: readonly (string)[];
      copies: readonly ({
        name: string;
        bytes: number;
        removed: boolean;
      })[];
      mayRemain: readonly (string)[];
      progress: {
        files: number;
      };
      nextCursor: string | null;
    };
  };
  /** Make the vectors of all passages anew. */
  'POST /v1/admin/reembed': {
    request: object;
    result: {
      state: "starting" | "embedding" | "paused" | "idle";
      dimensions: number;
      filesWaiting: number;
      textsWaiting: number;
      textsEmbedded: number;
      failures: number;
      lastFailure: string | null;
      lastFailureReason: string | null;
    };
  };
  /** Make the search index anew. */
  'POST /v1/admin/reindex': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      files: number;
    };
  };
  /** Remove what is past its retention. */
  'POST /v1/admin/retention': {
    request: { query?: {
      prefix?: string;
    }; body?: {
      dryRun?: boolean;
    } };
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        dryRun: boolean;
        prefix: string | null;
        counts: {
          events: number;
          access: number;
          idempotency: number;
          revisions: number;
          bytes: number;
          dreams: number;
        } | null;
      } | null;
      error: string | null;
    };
  };
  /** Revert writes, or lines. */
  'POST /v1/admin/revert': {
    request: { body?: {
      runId?: string;
      toolCallId?: string;
      actor?: string;
      since?: string;
      until?: string;
      userId?: string;
      spaceId?: string;
      revisionIds?: readonly (string)[];
      path?: string;
      lines?: string;
      version?: number;
      text?: string;
      in?: "file" | "user" | "everywhere";
      cursor?: string;
      dryRun?: boolean;
      onConflict?: "skip" | "leave" | "force";
      resolutions?: readonly ({
        path: string;
        version: number;
        startLine: number;
        take: "restored" | "theirs" | "both";
      })[];
    } };
    result: {
      dryRun: boolean;
      files: readonly ({
        path: string;
        outcome: "reverted" | "merged" | "conflict" | "unchanged" | "gone" | "refused" | "changed_since";
        version: number | null;
        revisionId: string | null;
        fromVersion: number | null;
        conflicts: readonly ({
          startLine: number;
          endLine: number;
          theirs: string;
          restored: string;
          writer: {
            revisionId: string;
            version: number;
            actor: string;
            at: string;
          } | null;
        })[];
        blanked: number;
        why: string | null;
        writers?: readonly ({
          revisionId: string;
          version: number;
          actor: string;
          at: string;
          lines: number;
        })[];
        diff: string;
        diffOmitted: boolean;
      })[];
      counts?: {
        users: readonly ({
          userId: string | null;
          spaceId: string | null;
          files: number;
          lines: number;
        })[];
        writers: readonly ({
          actor: string;
          files: number;
          lines: number;
        })[];
      };
      progress?: {
        files: number;
      };
      nextCursor?: string | null;
    };
  };
  /** Redact a revision. */
  'POST /v1/admin/revisions/:id/redact': {
    request: { params: { id: string }; body: {
      reason: string;
      before?: boolean;
      dryRun?: boolean;
      removeCopies?: boolean;
    } };
    result: {
      dryRun: boolean;
      unchanged: boolean;
      path: string;
      revisions: readonly ({
        id: string;
        version: number;
        loses: "after" | "before" | "both";
      })[];
      alsoIn: number;
      peers: readonly (string)[];
      pending: readonly (string)[];
      copies: readonly ({
        name: string;
        bytes: number;
        removed: boolean;
      })[];
      mayRemain: readonly (string)[];
    };
  };
  /** Revert a revision. */
  'POST /v1/admin/revisions/:id/revert': {
    request: { params: { id: string }; body?: {
      dryRun?: boolean;
      onConflict?: "skip" | "leave" | "force";
      resolutions?: readonly ({
        path: string;
        version: number;
        startLine: number;
        take: "restored" | "theirs" | "both";
      })[];
    } };
    result: {
      dryRun: boolean;
      unchanged: boolean;
      files: readonly ({
        path: string;
        outcome: "reverted" | "merged" | "conflict" | "unchanged" | "gone" | "refused" | "changed_since";
        version: number | null;
        revisionId: string | null;
        fromVersion: number | null;
        conflicts: readonly ({
          startLine: number;
          endLine: number;
          theirs: string;
          restored: string;
          writer: {
            revisionId: string;
            version: number;
            actor: string;
            at: string;
          } | null;
        })[];
        blanked: number;
        why: string | null;
        writers?: readonly ({
          revisionId: string;
          version: number;
          actor: string;
          at: string;
          lines: number;
        })[];
        diff: string;
        diffOmitted: boolean;
        unchanged: boolean;
      })[];
    };
  };
  /** Prune old revisions. */
  'POST /v1/admin/revisions/prune': {
    request: { body?: {
      olderThan?: string;
      keepLast?: number;
      userId?: string;
      spaceId?: string;
      path?: string;
      dryRun?: boolean;
    } };
    result: {
      pruned: number;
      bytes: number;
      dryRun: boolean;
    };
  };
  /** Search for an exact text, also in the history. */
  'POST /v1/admin/search': {
    request: { body: {
      text: string;
      history?: boolean;
      userId?: string;
      spaceId?: string;
      path?: string;
      limit?: number;
      cursor?: string;
    } };
    result: {
      items: readonly ({
        path: string;
        userId: string | null;
        spaceId: string | null;
        fromVersion: number;
        toVersion: number;
        toRevisionId: string | null;
        current: boolean;
        matches: number;
        lines: readonly ({
          line: number;
          text: string;
        })[];
      })[];
      nextCursor: string | null;
      searched: {
        files: number;
        versions: number;
        bytes: number;
      };
    };
  };
  /** End a restore of shared memory that cannot go on. */
  'POST /v1/admin/shared/release': {
    request: object;
    result: {
      userId: string | null;
      spaceId: string | null;
      released: true;
    };
  };
  /** Restore shared memory to an earlier time. */
  'POST /v1/admin/shared/restore': {
    request: { body: {
      at: string;
      path?: string;
      dryRun?: boolean;
    } };
    result: {
      dryRun: boolean;
      at: string;
      restored: number;
      deleted: number;
      unchanged: number;
      left: number;
      files: readonly ({
        path: string;
        outcome: "restored" | "deleted" | "gone" | "refused";
        version: number | null;
        revisionId: string | null;
        why: string | null;
        diff: string;
        diffOmitted: boolean;
      })[];
      filesOmitted: number;
    };
  };
  /** Create a space. */
  'POST /v1/admin/spaces': {
    request: { body: {
      id: string;
      name?: string | null;
      description?: string | null;
      metadata?: Record<string, string>;
      quota?: number | null;
      dream?: boolean;
      exclusivePaths?: boolean;
    } };
    result: {
      spaceId: string;
      name: string | null;
      description: string | null;
      metadata: Record<string, string>;
      quota: number | null;
      dream: boolean;
      exclusivePaths: boolean;
      createdAt: string;
      updatedAt: string;
      archivedAt: string | null;
      version: number;
      files: number;
      bytes: number;
      revisions: number;
      reads: number;
      lastReadAt: string | null;
      lastShownAt: string | null;
      lastWriteAt: string | null;
      historyHash: string | null;
    };
  };
  /** Make a space read-only. */
  'POST /v1/admin/spaces/:id/archive': {
    request: { params: { id: string }; body?: {
      archived?: boolean;
    } };
    result: {
      spaceId: string;
      name: string | null;
      description: string | null;
      metadata: Record<string, string>;
      quota: number | null;
      dream: boolean;
      exclusivePaths: boolean;
      createdAt: string;
      updatedAt: string;
      archivedAt: string | null;
      version: number;
      files: number;
      bytes: number;
      revisions: number;
      reads: number;
      lastReadAt: string | null;
      lastShownAt: string | null;
      lastWriteAt: string | null;
      historyHash: string | null;
    };
  };
  /** Erase a space. */
  'POST /v1/admin/spaces/:id/erase': {
    request: { params: { id: string }; body: {
      confirm: string;
      dryRun?: boolean;
      removeCopies?: boolean;
    } };
    result: {
      dryRun: boolean;
      userId: string | null;
      spaceId: string | null;
      erasedAt: string | null;
      erasedBefore: string | null;
      tables: Record<string, number>;
      auditRows: number;
      left: Record<string, number>;
      chainHead: string | null;
      readers: readonly ({
        path: string;
        revisionId: string;
        probably: boolean;
      })[];
      readersComplete: boolean;
      spaces: readonly (string)[];
      keeps: readonly (string)[];
      pending: readonly (string)[];
      copies: readonly ({
        name: string;
        bytes: number;
        removed: boolean;
      })[];
      mayRemain: readonly (string)[];
    };
  };
  /** End a restore of a space that cannot go on. */
  'POST /v1/admin/spaces/:id/release': {
    request: { params: { id: string } };
    result: {
      userId: string | null;
      spaceId: string | null;
      released: true;
    };
  };
  /** Restore a space’s memory to an earlier time. */
  'POST /v1/admin/spaces/:id/restore': {
    request: { params: { id: string }; body: {
      at: string;
      path?: string;
      dryRun?: boolean;
    } };
    result: {
      dryRun: boolean;
      at: string;
      restored: number;
      deleted: number;
      unchanged: number;
      left: number;
      files: readonly ({
        path: string;
        outcome: "restored" | "deleted" | "gone" | "refused";
        version: number | null;
        revisionId: string | null;
        why: string | null;
        diff: string;
        diffOmitted: boolean;
      })[];
      filesOmitted: number;
    };
  };
  /** Erase a user. */
  'POST /v1/admin/users/:userId/erase': {
    request: { params: { userId: string }; body: {
      confirm: string;
      dryRun?: boolean;
      removeCopies?: boolean;
    } };
    result: {
      dryRun: boolean;
      userId: string | null;
      spaceId: string | null;
      erasedAt: string | null;
      erasedBefore: string | null;
      tables: Record<string, number>;
      auditRows: number;
      left: Record<string, number>;
      chainHead: string | null;
      readers: readonly ({
        path: string;
        revisionId: string;
        probably: boolean;
      })[];
      readersComplete: boolean;
      spaces: readonly (string)[];
      keeps: readonly (string)[];
      pending: readonly (string)[];
      copies: readonly ({
        name: string;
        bytes: number;
        removed: boolean;
      })[];
      mayRemain: readonly (string)[];
    };
  };
  /** End a restore that cannot go on. */
  'POST /v1/admin/users/:userId/release': {
    request: { params: { userId: string } };
    result: {
      userId: string | null;
      spaceId: string | null;
      released: true;
    };
  };
  /** Restore a user’s memory to an earlier time. */
  'POST /v1/admin/users/:userId/restore': {
    request: { params: { userId: string }; body: {
      at: string;
      path?: string;
      dryRun?: boolean;
    } };
    result: {
      dryRun: boolean;
      at: string;
      restored: number;
      deleted: number;
      unchanged: number;
      left: number;
      files: readonly ({
        path: string;
        outcome: "restored" | "deleted" | "gone" | "refused";
        version: number | null;
        revisionId: string | null;
        why: string | null;
        diff: string;
        diffOmitted: boolean;
      })[];
      filesOmitted: number;
    };
  };
  /** Rewrite the database file. */
  'POST /v1/admin/vacuum': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        before: number;
        bytes: number;
      } | null;
      error: string | null;
    };
  };
  /** Verify the memory. */
  'POST /v1/admin/verify': {
    request: object;
    result: {
      state: "running" | "completed" | "failed";
      done: number;
      total: number;
      result: {
        scopes: number;
        files: number;
        revisions: number;
        unchained: number;
        chainedSince: string | null;
        uncovered: number;
        coveredSince: string | null;
        findings: readonly ({
          invariant: "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I8" | "chain" | "whole" | "storage";
          path: string | null;
          message: string;
        })[];
        found: number;
      } | null;
      error: string | null;
    };
  };
  /** Replace the stored checks. */
  'PUT /v1/admin/checks': {
    request: { body?: {
      text?: string;
      checks?: readonly (Record<string, unknown>)[];
    } };
    result: {
      version: number;
      text: string;
      checks: readonly ({
        name: string;
        line: number;
        about: "user" | "space" | "path" | "each_user" | "everywhere";
        kind: "ask" | "contains" | "absent" | "at_most_one_line" | "exists" | "max_bytes" | "hygiene";
      })[];
      mistakes: readonly ({
        line: number;
        message: string;
      })[];
    };
  };
  /** Change settings of dreaming. */
  'PUT /v1/admin/dream/config': {
    request: { body?: {
      dream_enabled?: boolean;
      dream_interval_minutes?: number;
      dream_grace_period_minutes?: number;
      dream_max_writes?: number;
      dream_concurrency?: number;
      dream_mode?: "auto" | "review";
      dream_window?: string | null;
      dream_waiting_days?: number;
      dream_max_tokens_per_user_day?: number;
      dream_max_tokens_per_day?: number;
      dream_max_reply_tokens?: number;
      dream_run_timeout_seconds?: number;
      dream_require_exam?: boolean;
    } };
    result: {
      dream_enabled: boolean;
      dream_interval_minutes: number;
      dream_grace_period_minutes: number;
      dream_max_writes: number;
      dream_concurrency: number;
      dream_mode: "auto" | "review";
      dream_window: string | null;
      dream_waiting_days: number;
      dream_max_tokens_per_user_day: number;
      dream_max_tokens_per_day: number;
      dream_max_reply_tokens: number;
      dream_run_timeout_seconds: number;
      dream_require_exam: boolean;
      schedulerStarted: boolean;
      invalidKeys?: readonly ("dream_enabled" | "dream_interval_minutes" | "dream_grace_period_minutes" | "dream_max_writes" | "dream_concurrency" | "dream_mode" | "dream_window" | "dream_waiting_days" | "dream_max_tokens_per_user_day" | "dream_max_tokens_per_day" | "dream_max_reply_tokens" | "dream_run_timeout_seconds" | "dream_require_exam")[];
    };
  };
  /** Pause or resume a space. */
  'PUT /v1/admin/dream/spaces/:spaceId/paused': {
    request: { params: { spaceId: string }; body: {
      paused: boolean;
    } };
    result: {
      userId: string | null;
      spaceId: string | null;
      status: "queued" | "running" | "completed" | "failed" | "canceled" | null;
      paused: boolean;
      eligible: boolean;
      skipReason: "disabled" | "archived" | "paused" | "frozen" | "no_change" | "excluded_only" | "grace" | "backoff" | "budget" | "window" | "in_flight" | "model_not_configured" | null;
      lastRunId: string | null;
      lastRunAt: string | null;
      lastWriteAt: string | null;
      lastQualifyingWriteAt: string | null;
      filesTouched: number;
      operationsWaiting: number;
      error: string | null;
      runs: number;
      failures: number;
      retryAt: string | null;
    };
  };
  /** Pause or resume a user. */
  'PUT /v1/admin/dream/users/:userId/paused': {
    request: { params: { userId: string }; body: {
      paused: boolean;
    } };
    result: {
      userId: string | null;
      spaceId: string | null;
      status: "queued" | "running" | "completed" | "failed" | "canceled" | null;
      paused: boolean;
      eligible: boolean;
      skipReason: "disabled" | "archived" | "paused" | "frozen" | "no_change" | "excluded_only" | "grace" | "backoff" | "budget" | "window" | "in_flight" | "model_not_configured" | null;
      lastRunId: string | null;
      lastRunAt: string | null;
      lastWriteAt: string | null;
      lastQualifyingWriteAt: string | null;
      filesTouched: number;
      operationsWaiting: number;
      error: string | null;
      runs: number;
      failures: number;
      retryAt: string | null;
    };
  };
  /** Write a memory file. */
  'PUT /v1/admin/files/*path': {
    request: { params: { path: string }; body: {
      content: string;
      reason?: string;
      actor?: "folder";
    } };
    result: {
      file: {
        path: string;
        virtualPath: string;
        userId: string | null;
        spaceId: string | null;
        size: number;
        lines: number;
        version: number;
        reads: number;
        writes: number;
        revisions: number;
        latestActor: string;
        latestRevisionId: string;
        createdAt: string;
        updatedAt: string;
        lastReadAt: string | null;
      } | null;
      version: number;
      revisionId: string;
      unchanged: boolean;
      masked?: readonly ({
        line: number;
        kind: string;
      })[];
    };
  };
  /** Change a space. */
  'PUT /v1/admin/spaces/:id': {
    request: { params: { id: string }; body?: {
      name?: string | null;
      description?: string | null;
      metadata?: Record<string, string>;
      quota?: number | null;
      dream?: boolean;
      exclusivePaths?: boolean;
    } };
    result: {
      spaceId: string;
      name: string | null;
      description: string | null;
      metadata: Record<string, string>;
      quota: number | null;
      dream: boolean;
      exclusivePaths: boolean;
      createdAt: string;
      updatedAt: string;
      archivedAt: string | null;
      version: number;
      files: number;
      bytes: number;
      revisions: number;
      reads: number;
      lastReadAt: string | null;
      lastShownAt: string | null;
      lastWriteAt: string | null;
      historyHash: string | null;
    };
  };
}
