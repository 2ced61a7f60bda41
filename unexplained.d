unexplained.o: daemon/report/unexplained.cc daemon/report/unexplained.h \
  daemon/agents/no_conclusion.h

daemon/report/unexplained.h:

daemon/agents/no_conclusion.h:
