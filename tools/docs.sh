#!/usr/bin/env bash
# From a fresh clone with nothing but Python 3.11 to 3.13 to the documentation
# in out/site/index.html. Fails on links and anchors within the site that lead
# nowhere; other sites are not asked. The commands of the tutorial are run by
# tests/docs_test.py.
#
#   tools/docs.sh            build the site
#   tools/docs.sh serve      show it, and build again after each change
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-build}" in
  build | serve) ;;
  *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; [[ "$1" == --help ]]; exit ;;
esac
tools/setup_venv.sh --docs
export NO_MKDOCS_2_WARNING=1 # an advertisement
.venv-docs/bin/mkdocs "${1:-build}" --strict --config-file tools/mkdocs.yml
[[ "${1:-build}" == serve ]] || echo "Built out/site/index.html"
