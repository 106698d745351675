#!/bin/sh
# A measurer in shell: brimful search --measurer 'cmd:examples/measurer.sh' --max-load 2Mpps --preset quick
# Put your generator where `offer` is; it gets a load and a time and prints what it sent and what it received.

offer() { # load, seconds -> "sent received"; this one stands for a device that forwards 1 Mpps
    awk -v load="$1" -v seconds="$2" 'BEGIN {
        sent = int(load * seconds + 0.5); most = int(1e6 * seconds)
        print sent, (sent > most ? most : sent) }'
}

field() { # name -> its number in $request
    printf '%s\n' "$request" | sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p"
}

while read -r request; do
    case $request in
    *'"describe"'*)
        echo '{"name": "shell example", "load_unit": "frames/s", "contract": "lost: not received by the end"}' ;;
    *'"measure"'*)
        set -- $(offer "$(field load)" "$(field duration_s)")
        if [ $# = 2 ] && [ "$2" -le "$1" ]; then
            echo "{\"id\": $(field id), \"sent\": $1, \"lost\": $(($1 - $2))}"
        else
            echo "{\"id\": $(field id), \"invalid\": \"the generator printed: $*\"}"
        fi ;;
    *)
        echo '{"error": "unknown request"}' ;;
    esac
done
