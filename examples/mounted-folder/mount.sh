#!/bin/sh
# Keeps ./notes and the memory of alice in step, until Ctrl-C. SERVICE_ADMIN_SECRET is in the environment.
exec npx --yes memory-service mount ./notes --user=alice --url="$MEMORY_URL"
