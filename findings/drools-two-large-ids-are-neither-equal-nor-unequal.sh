#!/usr/bin/env bash
# Drools 10.2.0 (Java), executable models. Above 2^53 whole numbers of type Long are compared in three ways: `id == 9007199254740992L` holds
# for 9007199254740993 too, as both are made floats; `id == $a.id` is exact, as a join looks ids up in an index; `id != $a.id` is of floats
# again. So of two different ids neither `==` nor `!=` holds, and a rule for "another id" misses its pair.
# What to do: write `!Long.valueOf(id).equals($a.id)`, or keep such ids as strings.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>look</groupId><artifactId>look</artifactId><version>1</version>
  <dependencies><dependency><groupId>org.drools</groupId><artifactId>drools-engine</artifactId><version>10.2.0</version></dependency></dependencies>
</project>
END
cat > Look.java <<'END'
import java.util.ArrayList;
import java.util.List;
import org.drools.model.codegen.ExecutableModelProject;
import org.kie.api.KieBase;
import org.kie.api.definition.type.FactType;
import org.kie.api.io.ResourceType;
import org.kie.api.runtime.KieSession;
import org.kie.internal.utils.KieHelper;

public class Look {
    public static void main(String[] arguments) throws Exception {
        for (String condition : List.of(
                "id == 9007199254740992L", "id == $a.id", "id != $a.id", "id > $a.id", "!Long.valueOf(id).equals($a.id)")) {
            String rules = "package look\nglobal java.util.List found\ndeclare A id : Long end\ndeclare B id : Long end\n"
                    + "rule r when $a : A() $b : B(" + condition + ") then found.add($b.getId()); end";
            KieBase base = new KieHelper().addContent(rules, ResourceType.DRL).build(ExecutableModelProject.class);
            KieSession session = base.newKieSession();
            List<Object> found = new ArrayList<>();
            session.setGlobal("found", found);
            for (String name : List.of("A", "B")) {
                FactType type = base.getFactType("look", name);
                Object fact = type.newInstance();
                type.set(fact, "id", 9007199254740992L + (name.equals("B") ? 1 : 0));
                session.insert(fact);
            }
            session.fireAllRules();
            System.out.println("a.id = 2^53, b.id = 2^53 + 1, " + condition + ": " + !found.isEmpty());
            session.dispose();
        }
    }
}
END
mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath
java -cp "$(cat classpath)" Look.java > seen 2> errors || { cat errors; exit 1; }
cat seen
diff seen - <<'SEEN'
a.id = 2^53, b.id = 2^53 + 1, id == 9007199254740992L: true
a.id = 2^53, b.id = 2^53 + 1, id == $a.id: false
a.id = 2^53, b.id = 2^53 + 1, id != $a.id: false
a.id = 2^53, b.id = 2^53 + 1, id > $a.id: true
a.id = 2^53, b.id = 2^53 + 1, !Long.valueOf(id).equals($a.id): true
SEEN
