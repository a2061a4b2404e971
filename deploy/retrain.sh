#!/bin/sh
# Scheduled retraining. Models are directories that never change, one a day;
# the file "current" beside them names the one in use.
#
#   retrain.sh train      trains MODELS/DAY and scores it: ends with 0 if it passes the gate
#   retrain.sh promote    makes it the current model
#   retrain.sh rollback MODEL    makes an earlier model the current one
#
# MODELS  directory or gs://BUCKET/DIR of the models
# DAY     name of the model in it; today, in UTC
# CONFIG  file with the flags of bochner train: data, label, kernel, runner
# TEST    labelled data that the training does not see
# GATE    score that the model must reach, such as accuracy>=0.95
# MAX_BAD share of test rows that may be set aside; 0
set -eu

: "${MODELS:?set MODELS to the directory of the models}"
day=${DAY:-$(date -u +%Y-%m-%d)}
model=$MODELS/$day

# again runs a command up to three times while it ends with a code that says that
# another try may help: 1 (runner) or 5 (storage).
again() {
	tries=0
	while :; do
		code=0
		"$@" || code=$?
		tries=$((tries + 1))
		case $code in
		1 | 5) [ $tries -lt 3 ] || return $code ;;
		*) return $code ;;
		esac
		echo "retrain: exit code $code, try $((tries + 1)) of 3" >&2
		sleep "${PAUSE:-60}"
	done
}

# point makes a model the current one, in one step that readers see or do not.
point() {
	bochner inspect --model "$1" >/dev/null
	case $MODELS in
	gs://*) printf '%s\n' "$1" | gcloud storage cp --cache-control=no-store - "$MODELS/current" ;;
	*)
		printf '%s\n' "$1" >"$MODELS/.current.$$"
		mv -f "$MODELS/.current.$$" "$MODELS/current"
		;;
	esac
	echo "retrain: the current model is $1"
}

case ${1:-} in
train)
	shift
	: "${CONFIG:?set CONFIG to the file with the flags of bochner train}"
	: "${TEST:?set TEST to labelled data that the training does not see}"
	: "${GATE:?set GATE to a score to reach, such as accuracy>=0.95}"
	if bochner inspect --model "$model" >/dev/null 2>&1; then
		echo "retrain: $model is there"
	else
		again bochner train --config "$CONFIG" --model "$model" --resume "$@"
	fi
	again bochner evaluate --model "$model" --data "$TEST" --gate "$GATE" --max_bad_fraction "${MAX_BAD:-0}"
	;;
promote) point "$model" ;;
rollback) point "${2:?name the model to go back to}" ;;
*)
	echo "usage: retrain.sh train | promote | rollback MODEL" >&2
	exit 2
	;;
esac
