# Steps of a job: each is announced and timed, and one that fails makes the job fail at its end.
#
# Sourced by .ci/run. Needs $work, a folder for logs. A track is a function of steps, and ends with
# the first that fails. Tracks run several at a time; their output is kept and shown as a whole.

tracks=$work/tracks
mkdir -p "$tracks"

# Run a command. A failure is noted; in a track it ends the track.
step() {
    printf '\n== %s\n' "$*"
    local started=$SECONDS code=0
    "$@" || code=$?
    printf -- '-- %d s\n' $((SECONDS - started))
    if ((code)); then
        printf -- '-- failed, exit code %d\n' "$code"
        printf '%s\n' "$*" >>"$work/failed"
        if ((BASH_SUBSHELL)); then exit "$code"; fi
    fi
    return 0
}

# Run tracks, so many at a time, in the order given.
beside() {
    local most=$1 name
    shift
    for name in "$@"; do
        while (($(jobs -rp | wc -l) >= most)); do
            wait -n || true
            show
        done
        run_track "$name" &
    done
    while (($(jobs -rp | wc -l))); do
        wait -n || true
        show
    done
    wait
    show
}

run_track() {
    local log=$tracks/$1.log code=0
    ("$1") >"$log" 2>&1 || code=$?
    if ((code)); then
        grep -q -- '^-- failed' "$log" || printf 'track %s\n' "$1" >>"$work/failed"
        cp "$log" "$tracks/$1.bad"
    fi
    mv "$log" "$tracks/$1.ended"
}

# Show the output of tracks that have ended, each once.
show() {
    local log
    for log in "$tracks"/*.ended; do
        [[ -e $log ]] || continue
        cat "$log"
        mv "$log" "${log%.ended}.shown"
    done
}

# Say which steps failed, with the ends of their tracks' output; return whether there is none.
verdict() {
    [[ -s $work/failed ]] || return 0
    local log
    for log in "$tracks"/*.bad; do
        [[ -e $log ]] || continue
        printf '\n== again, the end of %s\n' "$(basename "${log%.bad}")"
        tail -n 60 "$log"
    done
    printf '\n%s\n' "failed:"
    sed 's/^/  /' "$work/failed"
    return 1
}
