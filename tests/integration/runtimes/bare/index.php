<?php
// For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1.
$back = getenv('BACK');
foreach ([0, 1] as $number) file_get_contents("http://$back{$_SERVER['REQUEST_URI']}/$number");
