    if [ ! -e "$file" ]; then
        echo "writing $file in full"
        "$fio" --output=/dev/null "$here/fill.fio" || exit 1
    fi
