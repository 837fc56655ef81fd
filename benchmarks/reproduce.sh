#!/bin/sh
# All runs behind the paper's tables, in order; stopped at any time, the same command goes on.
#
#     sh benchmarks/reproduce.sh paper.jsonl
set -eu
out=${1:-paper.jsonl}
jobs=${JOBS:-2}
budgets=32,64,128
bench() { dln-bench run --protocol paper --jobs "$jobs" --out "$out" "$@"; }

bench --models linear,ridge,lasso,tree,knn --trials $budgets --seeds 10
bench --models dln,options,page --trials 0 --seeds 10
bench --models dln --trials $budgets --datasets small --seeds 10
bench --models options --trials 128 --datasets small --seeds 10 # the searches of dln, no new ones
bench --models ablations --trials 32 --datasets small --seeds 10
bench --models peers --trials 0,128 --datasets small --seeds 10
bench --models dln --trials $budgets --datasets large --seeds 3
bench --models ablations --trials 32 --datasets large --seeds 3
bench --models peers --trials 0,128 --datasets large --seeds 3
bench --models dln --trials $budgets --datasets large --seeds 10
bench --models options --trials 128 --datasets large --seeds 10
bench --models forest --trials $budgets --seeds 10
bench --models adaboost,svr,mlp --trials $budgets --datasets small --seeds 10
bench --models adaboost,svr,mlp --trials $budgets --datasets large --seeds 3
dln-bench pack "$out" --out benchmarks/results/paper.jsonl.gz
dln-bench report benchmarks/results/paper.jsonl.gz --out report --page docs/reproduction.md
