# What a base is, read inside it: run as  sh -c "$(cat facts.sh)" facts "$(cat facts.py)"  in a throw-away container.
#
# Needs a POSIX shell and nothing else. Every line of the answer begins with IMGBUILD_FACTS_MARK;
# whatever programs of the base print besides is left aside by the reader. The last line is "end".
mark=${IMGBUILD_FACTS_MARK:-imgbuild-facts}
read_python=$1

say() { printf '%s %s\n' "$mark" "$*"; }

for file in /etc/os-release /usr/lib/os-release; do
    if [ -r "$file" ]; then
        while IFS= read -r line || [ -n "$line" ]; do say "os $line"; done <"$file"
        break
    fi
done

if command -v apt-get >/dev/null 2>&1; then say "has apt"; fi
if [ -s /etc/ld.so.cache ]; then say "has ld-cache"; fi

libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=
if [ -z "$libc" ]; then
    for loader in /lib64/ld-linux*.so* /lib/ld-linux*.so* /lib/*/ld-linux*.so*; do
        if [ -x "$loader" ]; then
            libc=$("$loader" --version 2>/dev/null) || libc=
            break
        fi
    done
fi
if [ -n "$libc" ]; then
    printf '%s\n' "$libc" | while IFS= read -r line; do say "libc $line"; done
fi

if command -v dpkg-query >/dev/null 2>&1; then
    dpkg-query --show --showformat='${db:Status-Abbrev}${binary:Package}\n' 2>/dev/null | while read -r state package; do
        case $state in
            iU | iF) say "unconfigured ${package%%:*}" ;;
        esac
    done
fi

seen=:
for python in \
    "$(command -v python3 2>/dev/null)" "$(command -v python 2>/dev/null)" \
    "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" /opt/venv/bin/python \
    "${CONDA_PREFIX:+$CONDA_PREFIX/bin/python}" /opt/conda/bin/python /opt/conda/envs/*/bin/python \
    /usr/local/bin/python3 /usr/bin/python3 /opt/*/bin/python3; do
    case $seen in *":$python:"*) continue ;; esac
    seen=$seen$python:
    if [ -x "$python" ] && [ -n "$read_python" ]; then
        "$python" -c "$read_python" "$python" </dev/null
        # 10: it has everything that was asked for, so no other has to be looked at
        if [ $? -eq 10 ]; then break; fi
    fi
done
say end
