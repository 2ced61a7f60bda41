# The blocks of the order service's structured tests: sh blocks.sh BLOCK [TOTAL]. REDIS is HOST:PORT of the store.
#
# The consumer of session s1 is ann, with 20000 on the account; the cart c1 is bob's, and costs 10000.
set -e
store() { redis-cli -h "${REDIS%:*}" -p "${REDIS##*:}" "$@"; }
# is NAME FOUND EXPECTED
is() { [ "$2" = "$3" ] || { echo "$1: $2, not $3"; exit 1; }; }
accounts() { store MGET account:ann account:bob | xargs; }

case $1 in
setup)
  store DEL order:ann
  store MSET account:ann 20000 account:bob 0 ;;
paid)  # the purchase was made, and cost so much
  is "the answer" "$(store GET response)" "success, $2"
  is "the order" "$(store HGETALL order:ann | xargs)" "cart c1 total $2"
  is "the accounts" "$(accounts)" "$((20000 - $2)) $2" ;;
unchanged)  # no money has moved, and there is no order
  is "the accounts" "$(accounts)" "20000 0"
  is "orders" "$(store EXISTS order:ann)" 0 ;;
teardown)
  store DEL order:ann account:ann account:bob response ;;
esac
