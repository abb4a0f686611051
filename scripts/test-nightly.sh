#!/bin/sh
# Runs the tests at full size: hundreds of kills and damaged files, 1000 simulated worlds, the speed
# ratios and the mutation scores. This takes hours; `.ci/run` runs the same tests in small numbers.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=
# run <command…>: continues after a failure.
run() { "$@" || failed="$failed
  $*"; }

run env NIGHTLY_TESTS=1 npm run test:all
run npm run simulate -- --seeds 1000 --from 1
run npm run bench:check
run npm run site
run npm run test:mutation
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
