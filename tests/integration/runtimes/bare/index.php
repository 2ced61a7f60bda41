<?php
// For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1.
foreach ([0, 1] as $number) file_get_contents("http://{$_SERVER['BACK']}{$_SERVER['REQUEST_URI']}/$number");
