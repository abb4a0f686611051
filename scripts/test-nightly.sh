#!/bin/sh
# Runs the tests at full size: hundreds of kills and damaged files, 1000 simulated worlds, the speed
# ratios and the mutation scores. This takes hours; `.ci/run` runs the same tests in small numbers.
set -eu
cd "$(dirname "$0")/.."
npm run check
NIGHTLY_TESTS=1 npm run test:all
npm run simulate -- --seeds 1000 --from 1
npm run simulate -- --planted
npm run bench:check
npm run test:mutation
